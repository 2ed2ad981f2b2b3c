/** Successful answers with a wrong status, media type or shape. */
import { withUnusedBit } from "../../spelling.ts"
import { type Case, refused } from "../Case.ts"
import type { Lie, ProxyReply } from "../../lyingProxy/Lie.ts"

const withStatus = (status: number, of: "complete" | "stream"): Case =>
  refused("C27", `${of}-status-${status}`, `gives a sealed answer with the status ${status}`, {
    form: of,
    reply: (reply) => ({ ...reply, status }),
  })

const withType = (type: string | undefined, name: string, of: "complete" | "stream"): Case =>
  refused(
    "C28",
    `${of}-type-${name}`,
    `gives a sealed answer ${type === undefined ? "without a media type" : `as ${type}`}`,
    {
      form: of,
      reply: (reply) => ({
        ...reply,
        headers: type === undefined ? {} : { "content-type": type },
      }),
    },
  )

const instead = (type: string, text: string): Lie => ({
  reply: (reply: ProxyReply) => ({ ...reply, headers: { "content-type": type }, body: [text] }),
})

const MESSAGE = { role: "assistant", content: "nobody sealed this" }
const UNSEALED = JSON.stringify({
  object: "chat.completion",
  choices: [{ index: 0, message: MESSAGE, finish_reason: "stop" }],
})
const UNSEALED_STREAM = `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta: MESSAGE }] })}\n\ndata: [DONE]\n\n`
const PROBLEM = JSON.stringify({ title: "Later", status: 503, code: "overloaded", retryable: true })

const NONCE_31 = "A".repeat(42)

const body = (must: string, name: string, says: string, change: Exclude<Lie["body"], undefined>): Case =>
  refused(must, `complete-${name}`, says, { body: change })

const opening = (name: string, says: string, change: (nonce: unknown) => object): Case =>
  refused("C29", `stream-${name}`, says, {
    events: ([open, ...events]) => [{ event: "open", data: change(Object(open?.data).response_nonce) }, ...events],
  })

export const forms: ReadonlyArray<Case> = [
  refused("C22", "form-stream", "answers a request for a complete answer with a correctly sealed stream", {
    form: "complete",
    otherForm: true,
  }),
  refused("C22", "form-complete", "answers a request for a stream with a correctly sealed complete answer", {
    form: "stream",
    otherForm: true,
  }),
  ...[201, 202, 203, 206, 226].map((status) => withStatus(status, "complete")),
  ...[201, 202, 206].map((status) => withStatus(status, "stream")),
  withType("application/json", "json", "complete"),
  withType("text/event-stream", "stream", "complete"),
  withType("application/problem+json", "problem", "complete"),
  withType(undefined, "none", "complete"),
  withType("application/vnd.sealgate.sealed+json", "complete", "stream"),
  withType("application/vnd.sealgate.sealed+jsonp", "jsonp", "complete"),
  withType("text/plain", "text", "stream"),
  withType("text/event-streams", "streams", "stream"),
  withType(undefined, "none", "stream"),
  refused("C28", "complete-unsealed", "gives a plain completion", {
    form: "complete",
    ...instead("application/json", UNSEALED),
  }),
  refused("C29", "complete-unsealed-as-sealed", "gives a plain completion as if it were sealed", {
    form: "complete",
    ...instead("application/vnd.sealgate.sealed+json", UNSEALED),
  }),
  refused("C28", "complete-problem-200", "gives a problem document with the status 200", {
    form: "complete",
    ...instead("application/problem+json", PROBLEM),
  }),
  refused("C29", "complete-empty", "gives nothing with the status 200", {
    form: "complete",
    ...instead("application/vnd.sealgate.sealed+json", ""),
  }),
  refused("C29", "stream-unsealed", "gives a plain stream", {
    form: "stream",
    ...instead("text/event-stream", UNSEALED_STREAM),
  }),
  refused("C28", "stream-problem-200", "gives a problem document with the status 200", {
    form: "stream",
    ...instead("application/problem+json", PROBLEM),
  }),
  body("C29", "nonce-missing", "leaves response_nonce out", ({ frames }) => ({ frames })),
  body("C29", "nonce-short", "has a response_nonce of 31 bytes", ({ frames }) => ({
    frames,
    response_nonce: NONCE_31,
  })),
  body("C1", "nonce-padded", "spells its response_nonce with padding", ({ frames, response_nonce }) => ({
    frames,
    response_nonce: `${response_nonce}=`,
  })),
  body("C1", "nonce-unused-bits", "spells its response_nonce with unused bits that are not zero", (body) => ({
    ...body,
    response_nonce: withUnusedBit(body.response_nonce),
  })),
  body("C30", "nonce-other", "has another answer's response_nonce", ({ frames }, { again }) => ({
    frames,
    response_nonce: again().response_nonce,
  })),
  body("C29", "frames-missing", "leaves the frames out", ({ response_nonce }) => ({ response_nonce })),
  body("C32", "frames-none", "has no frames", (body) => ({ ...body, frames: [] })),
  body("C32", "frames-one", "has the answer's frame alone", (body) => ({ ...body, frames: body.frames.slice(0, 1) })),
  body("C32", "frames-end", "has the end record's frame alone", (body) => ({
    ...body,
    frames: body.frames.slice(1),
  })),
  body("C32", "frames-three", "has its first frame twice", (body) => ({
    ...body,
    frames: [...body.frames.slice(0, 1), ...body.frames],
  })),
  body("C32", "frames-four", "has its end record twice", (body) => ({
    ...body,
    frames: [...body.frames, ...body.frames.slice(1)],
  })),
  body("C30", "frames-swapped", "has its two frames in the other order", (body) => ({
    ...body,
    frames: body.frames.toReversed(),
  })),
  body("C29", "frames-objects", "has frames that are no text", (body) => ({
    ...body,
    frames: body.frames.map((ciphertext) => ({ ciphertext })),
  })),
  body("C29", "frames-text", "has frames that are no list", (body) => ({ ...body, frames: body.frames[0] })),
  body("C30", "frames-of-another", "has the frames of the answer to another request", (body, { foreign }) => ({
    ...body,
    frames: foreign().frames,
  })),
  body("C29", "array", "has a body that is no object", (body) => [body]),
  body("C2", "cut", "breaks off within its body", (body) => JSON.stringify(body).slice(0, -200)),
  body("C2", "trailing", "has more text after its body", (body) => `${JSON.stringify(body)}{}`),
  opening("nonce-missing", "opens a stream without a response_nonce", () => ({})),
  opening("nonce-short", "opens a stream with a response_nonce of 31 bytes", () => ({ response_nonce: NONCE_31 })),
  opening("nonce-padded", "opens a stream with a padded response_nonce", (nonce) => ({
    response_nonce: `${String(nonce)}=`,
  })),
]
