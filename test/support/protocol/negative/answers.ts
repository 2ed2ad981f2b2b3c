/** Answers to a sealed request. */
import type { PublishedExchange } from "../published.ts"
import * as reference from "../reference.ts"
import { b64u, bytes, type Claims, fromHex, hex, text } from "../reference.ts"
import type { Vectors } from "../vectors.ts"
import { type Changes, changedAnswer, type Event, renderEvents } from "./changedAnswer.ts"
import {
  type Body,
  exchangeNamed,
  type Given,
  type Json,
  type Next,
  problem,
  type Verdict,
  withByte,
} from "./common.ts"
import { OTHER, wrongSignatures } from "./statements.ts"

export type Answer = Given<
  {
    /** Which published request was sent. */
    readonly exchange: string
    readonly status: number
    readonly content_type: string
    readonly expect: Verdict
    /** With `refusal` and `break`. */
    readonly next?: Next
  } & Body
>

const SEALED = { complete: "application/vnd.sealgate.sealed+json", stream: "text/event-stream" } as const
const PROBLEM = "application/problem+json"

const chunkOf = (delta: object) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_767_225_610,
  model: "model-b",
  choices: [{ index: 0, delta, finish_reason: null }],
})

/** Of the ways to sign wrongly, those that are tried where the whole answer has to be made anew for each. */
const KEPT = new Set(["a signature of 63 bytes", "a statement of another type", "a signature with one bit changed"])
const isKept = ([rule, why]: ReturnType<typeof wrongSignatures>[number]): boolean =>
  !["C8", "C9", "C11"].includes(rule) || KEPT.has(why)

const noEvent: Event = { event: "frame", data: {} }

export const makeAnswers = (vectors: Vectors, identity: reference.Identity): ReadonlyArray<Answer> => {
  const complete = exchangeNamed(vectors, "complete-x25519")
  const stream = exchangeNamed(vectors, "paced-x25519")
  const answer = (exchange: PublishedExchange, rule: string, why: string, more: Partial<Answer>): Answer => ({
    rules: [rule],
    why,
    exchange: exchange.name,
    status: 200,
    content_type: SEALED[exchange.form],
    expect: "attack",
    ...more,
  })
  const changed =
    (exchange: PublishedExchange) =>
    (rule: string, why: string, changes: Changes, more = {}) =>
      answer(exchange, rule, why, { body: changedAnswer(identity, exchange, changes), ...more })
  const whole = changed(complete)
  const streamed = changed(stream)
  const honest = { complete: changedAnswer(identity, complete, {}), stream: changedAnswer(identity, stream, {}) }
  const swapped = <A>(all: ReadonlyArray<A>, at: number): ReadonlyArray<A> =>
    all.map((each, index) => all[index === at ? at + 1 : index === at + 1 ? at : index] ?? each)
  const dataOf = ({ data }: Event): Json => data as Json
  const failed = { status: "failed", problem: { status: 502, code: "broken", retryable: true, title: "It broke." } }

  const receipts: ReadonlyArray<readonly [rule: string, why: string, change: Claims]> = [
    ["C41", "a receipt for another request_id", { jti: "018f3b1e-7c1a-7d2b-8a3c-000000000000" }],
    ["C41", "a receipt without a jti for an answer that is complete", { jti: null }],
    ["C41", "a receipt of another session", { session_id: b64u(Buffer.alloc(16, 1)) }],
    ["C41", "a receipt for another request_hash", { request_hash: b64u(Buffer.alloc(32, 1)) }],
    ["C41", "a receipt of the other form", { form: "stream" }],
    ["C41", "a receipt of another status", { status: "aborted" }],
    ["C41", "a receipt with other finish_reasons", { finish_reasons: ["length"] }],
    ["C41", "a receipt with another usage", { usage: { total_tokens: 1 } }],
    ["C41", "a receipt with another root", { root: b64u(Buffer.alloc(32, 1)) }],
    ["C41", "a receipt that counts another frame", { count: 2 }],
    ["C41", "a receipt that commits to another request", { request_commitment: b64u(Buffer.alloc(32, 1)) }],
    ["C41", "a receipt that commits to another answer", { response_commitment: b64u(Buffer.alloc(32, 1)) }],
    ["C42", "a request that came before its session began", { received_at: 1_767_225_599 }],
    ["C42", "an answer that was done before its request came", { completed_at: 1_767_225_600 }],
    ["C42", "a receipt that was signed before the answer was done", { iat: 1_767_225_602 }],
    ["C41", "a receipt of another model than the answer names", { model: "model-b" }],
    ["C41", "a receipt of an answer by nobody", { provider: null }],
    [
      "C42",
      "a request that came long after it was issued",
      { received_at: 2_777_000_000, completed_at: 2_777_000_000, iat: 2_777_000_000 },
    ],
    ["C42", "a receipt that was signed long after it came", { iat: 2_777_000_000 }],
    ["C31", "a receipt without a count", { count: undefined }],
  ]
  const proofs: ReadonlyArray<readonly [rule: string, why: string, change: Claims]> = [
    ["C43", "a proof of another session", { session_id: b64u(Buffer.alloc(16, 1)) }],
    ["C43", "a proof for another request_hash", { request_hash: b64u(Buffer.alloc(32, 1)) }],
    ["C43", "a proof with another root", { root: b64u(Buffer.alloc(32, 1)) }],
    ["C43", "a proof that counts fewer frames", { count: 3 }],
    ["C43", "a proof that was signed before the receipt", { iat: 1_767_225_630 }],
  ]
  /** Events, changed by name: what stands where, and what stands there instead. */
  const eventful: ReadonlyArray<
    readonly [rule: string, why: string, (events: ReadonlyArray<Event>) => ReadonlyArray<Event | string>]
  > = [
    ["C35", "an event that nobody knows", (events) => events.toSpliced(2, 0, { event: "note", data: {} })],
    ["C35", "an event without a name", (events) => [...events.slice(0, 2), "data: {}\n\n", ...events.slice(2)]],
    ["C35", "a second opening", (events) => events.toSpliced(1, 0, ...events.slice(0, 1))],
    ["C35", "a frame before the opening", (events) => swapped(events, 0)],
    ["C35", "the proof before the final frame", (events) => swapped(events, events.length - 2)],
    [
      "C30",
      "two frames that changed their places and their numbers",
      (events) => {
        const frames = swapped(events, 1)
        return frames.map((each, i) => (i === 1 || i === 2 ? { ...each, data: { ...dataOf(each), seq: i - 1 } } : each))
      },
    ],
    ["C36", "a frame left out", (events) => events.toSpliced(2, 1)],
    ["C36", "a frame sent twice", (events) => events.toSpliced(2, 0, ...events.slice(1, 2))],
    [
      "C30",
      "a data frame said to be final",
      (events) => events.map((each, i) => (i === 2 ? { ...each, data: { ...dataOf(each), final: true } } : each)),
    ],
    [
      "C30",
      "the final frame said not to be",
      (events) => events.map((each, i) => (i === 4 ? { ...each, data: { ...dataOf(each), final: false } } : each)),
    ],
    [
      "C30",
      "one bit of a frame changed",
      (events) =>
        events.map((each, i) =>
          i === 1
            ? { ...each, data: { ...dataOf(each), ciphertext: withByte(String(dataOf(each)["ciphertext"]), 99) } }
            : each,
        ),
    ],
    [
      "C37",
      "a frame after the final one",
      (events) => events.toSpliced(5, 0, { event: "frame", data: { ...dataOf(events[1] ?? noEvent), seq: 4 } }),
    ],
    ["C37", "an event after the proof", (events) => [...events, ...events.slice(-1)]],
    ["C39", "nothing at all", () => []],
    ["C39", "an end after the opening", (events) => events.slice(0, 1)],
    ["C39", "an end after a data frame", (events) => events.slice(0, 3)],
    ["C39", "an end before the proof", (events) => events.slice(0, -1)],
    [
      "C39",
      "an end within the proof",
      (events) => [...events.slice(0, -1), renderEvents(events.slice(-1)).slice(0, 80)],
    ],
    ["C29", "an opening without a nonce", (events) => [{ event: "open", data: {} }, ...events.slice(1)]],
    [
      "C29",
      "a frame whose final is no boolean",
      (events) => events.map((each, i) => (i === 4 ? { ...each, data: { ...dataOf(each), final: 1 } } : each)),
    ],
    [
      "C2",
      "an event whose data has a member twice",
      (events) =>
        events.map((each, i) =>
          i === 1 ? { ...each, data: JSON.stringify(each.data).replace("{", '{"seq":0,') } : each,
        ),
    ],
  ]
  const payloads: ReadonlyArray<readonly [rule: string, why: string, payload: string]> = [
    ["C2", "a data frame with a member twice", '{"deltas":[],"deltas":[]}'],
    [
      "C2",
      "a data frame with half of a surrogate pair",
      `{"deltas":[${JSON.stringify(chunkOf({ content: "?" })).replace("?", "\\ud83d")}]}`,
    ],
    ["C2", "a data frame with a byte order mark", '\ufeff{"deltas":[]}'],
    ["C31", "a data frame that is no object", "[]"],
    ["C31", "a data frame without deltas", "{}"],
    ["C31", "a data frame with a delta that is no object", '{"deltas":["Hello"]}'],
    ["C31", "a restart that does not say by whom", '{"restart":{"reason":"truncated"},"deltas":[]}'],
    [
      "C38",
      "a restart, which the request forbids",
      '{"restart":{"reason":"truncated","provider":"provider2","model":"m"},"deltas":[]}',
    ],
  ]
  const blocks: ReadonlyArray<readonly [why: string, (block: Buffer) => Buffer]> = [
    ["a block with a byte behind the payload that is not zero", (block) => bytes(block.subarray(0, -1), Buffer.of(1))],
    ["a block that is larger than its payload has it", (block) => bytes(block, Buffer.alloc(64))],
    ["a block whose length points beyond it", (block) => bytes(reference.u32(block.length), block.subarray(4))],
    ["a block below the floor", (block) => block.subarray(0, 512)],
  ]
  const first = (change: (block: Buffer) => Buffer) => (block: Buffer, index: number) =>
    index === 0 ? change(block) : block

  return [
    whole(
      "C3",
      "members that a client does not know, everywhere",
      {
        receipt: (claims) => ({ ...claims, note: 1 }),
        record: (record) => ({ ...record, note: null }),
        wire: (body) => ({ note: {}, ...body }),
      },
      { expect: "answer" },
    ),
    streamed(
      "C3",
      "comments between the events, fields and members that a client does not know",
      {
        events: (events) => [
          ": a comment\n\n",
          ...events.map(
            ({ data, event }) =>
              `id: 7\nevent: ${event}\ndata: ${JSON.stringify({ note: 1, ...dataOf({ data, event }) })}\n\n`,
          ),
        ],
      },
      { expect: "answer" },
    ),
    whole(
      "C23",
      "an answer that failed",
      {
        payloads: () => ["null"],
        receipt: (claims) => ({ ...claims, status: "failed", finish_reasons: [] }),
        record: (record) => ({ ...record, ...failed, finish_reasons: [] }),
      },
      { expect: "failure" },
    ),
    streamed(
      "C23",
      "a stream that was aborted",
      {
        receipt: (claims) => ({ ...claims, status: "aborted", finish_reasons: [] }),
        record: (record) => ({ ...record, ...failed, status: "aborted", finish_reasons: [] }),
      },
      { expect: "failure" },
    ),
    // Unsealed answers.
    answer(complete, "C27", "status 201", { status: 201, body: honest.complete }),
    answer(stream, "C27", "status 206", { status: 206, body: honest.stream }),
    answer(complete, "C28", "JSON of no sealed type", { content_type: "application/json", body: honest.complete }),
    answer(complete, "C28", "an answer in clear", {
      content_type: "application/json",
      body: JSON.stringify({
        choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
      }),
    }),
    answer(complete, "C22", "events in place of a complete answer", {
      content_type: SEALED.stream,
      body: honest.stream,
    }),
    answer(stream, "C22", "a complete answer in place of events", {
      content_type: SEALED.complete,
      body: honest.complete,
    }),
    // The body.
    whole("C2", "a body with a member twice", { wire: (body) => JSON.stringify(body).replace("{", '{"frames":[],') }),
    answer(complete, "C2", "a body that is not UTF-8", {
      body_hex: hex(bytes(text(`${honest.complete.slice(0, -1)},"note":"`), Buffer.of(0xff), text('"}'))),
    }),
    whole("C2", "a body with a byte order mark", { wire: (body) => `\ufeff${JSON.stringify(body)}` }),
    whole("C29", "a body without frames", { wire: ({ response_nonce }) => ({ response_nonce }) }),
    whole("C29", "frames that are no list", { wireFrames: (frames) => frames[0] }),
    whole("C29", "a nonce of 31 bytes", {
      wire: (body) => ({ ...body, response_nonce: b64u(Buffer.alloc(31, 0x91)) }),
    }),
    whole("C1", "a frame with padding behind it", { wireFrames: ([one, ...more]) => [`${one}=`, ...more] }),
    whole("C1", "a nonce with bits after its last byte", {
      wire: (body) => ({ ...body, response_nonce: String(body["response_nonce"]).replace(/.$/, "F") }),
    }),
    whole("C32", "one frame", { wireFrames: (frames) => frames.slice(1) }),
    whole("C32", "three frames", { wireFrames: ([one, two]) => [one, two, two] }),
    // Frames.
    whole("C30", "the two frames exchanged", { wireFrames: ([one, two]) => [two, one] }),
    whole("C30", "frames bound to the other form", { form: "stream" }),
    whole("C30", "a nonce that is not that of the frames", {
      wire: (body) => ({ ...body, response_nonce: b64u(Buffer.alloc(32, 1)) }),
    }),
    whole("C30", "the frames of another exchange", {
      wireFrames: () =>
        exchangeNamed(vectors, "unreadable").response.frames.map(({ ciphertext }) => b64u(fromHex(ciphertext))),
    }),
    ...blocks.map(([why, change]) => whole("C21", why, { block: first(change) })),
    whole("C31", "an answer that is no object", { payloads: () => ['"Hello"'] }),
    whole("C31", "an end record without a receipt", { record: (record) => ({ ...record, receipt: undefined }) }),
    whole("C31", "a status that nobody knows", {
      record: (record) => ({ ...record, status: "partial" }),
      receipt: (claims) => ({ ...claims, status: "partial" }),
    }),
    whole("C44", "an end record that was not filled", { fill: text }),
    whole("C44", "an end record that is one byte longer", {
      fill: (record) => bytes(reference.filled(record), text(" ")),
    }),
    whole("C33", "null where the end record is complete", { payloads: () => ["null"] }),
    whole("C33", "an answer where the end record is not complete", {
      receipt: (claims) => ({ ...claims, status: "failed" }),
      record: (record) => ({ ...record, ...failed }),
    }),
    whole("C34", "a failure that nothing is said of", {
      payloads: () => ["null"],
      receipt: (claims) => ({ ...claims, status: "failed" }),
      record: (record) => ({ ...record, status: "failed" }),
    }),
    // Streams.
    ...eventful.map(([rule, why, events]) => streamed(rule, why, { events })),
    ...payloads.map(([rule, why, payload]) => streamed(rule, why, { payloads: ([, ...more]) => [payload, ...more] })),
    // Signed statements.
    ...wrongSignatures(identity, "receipt")
      .filter(isKept)
      .map(([rule, why, signed]) => whole(rule, `the receipt: ${why}`, { signReceipt: (_, claims) => signed(claims) })),
    ...wrongSignatures(identity, "proof")
      .filter(isKept)
      .map(([rule, why, signed]) => streamed(rule, `the proof: ${why}`, { signProof: (_, claims) => signed(claims) })),
    whole("C40", "a receipt of another identity, which is pinned as well", {
      signReceipt: (_, claims) => reference.statement(OTHER, "receipt", { ...claims, iss: OTHER.kid }).statement,
    }),
    ...receipts.map(([rule, why, change]) => whole(rule, why, { receipt: (claims) => ({ ...claims, ...change }) })),
    streamed("C43", "a proof of another identity, which is pinned as well", {
      signProof: (_, claims) => reference.statement(OTHER, "proof", { ...claims, iss: OTHER.kid }).statement,
    }),
    ...proofs.map(([rule, why, change]) => streamed(rule, why, { proof: (claims) => ({ ...claims, ...change }) })),
    // Members outside the seal.
    answer(complete, "C25", "the session is gone", {
      status: 410,
      content_type: PROBLEM,
      body: problem(410, "session-gone"),
      expect: "refusal",
      next: "seal-anew",
    }),
    answer(complete, "C25", "the proxy shuts down", {
      status: 503,
      content_type: PROBLEM,
      body: problem(503, "draining"),
      expect: "refusal",
      next: "seal-anew",
    }),
    answer(complete, "C26", "the request came before", {
      status: 409,
      content_type: PROBLEM,
      body: problem(409, "replayed"),
      expect: "refusal",
      next: "nothing",
    }),
    answer(complete, "C26", "the request does not open", {
      status: 400,
      content_type: PROBLEM,
      body: problem(400, "unopenable"),
      expect: "refusal",
      next: "nothing",
    }),
    answer(complete, "C26", "too many requests", {
      status: 429,
      content_type: PROBLEM,
      body: problem(429, "rate-limited"),
      expect: "refusal",
      next: "nothing",
    }),
    answer(complete, "C26", "a page of something in between", {
      status: 502,
      content_type: "text/html",
      body: "<h1>Bad gateway</h1>",
      expect: "break",
      next: "same-bytes",
    }),
    answer(complete, "C26", "JSON that is called no problem document", {
      status: 410,
      content_type: "application/json",
      body: problem(410, "session-gone"),
      expect: "break",
      next: "same-bytes",
    }),
    answer(complete, "C2", "a problem document with a member twice", {
      status: 410,
      content_type: PROBLEM,
      body: problem(410, "session-gone").replace("{", '{"code":"replayed",'),
      expect: "break",
      next: "same-bytes",
    }),
  ]
}
