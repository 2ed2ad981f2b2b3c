/** Checks of complete answers, and of what any answer shows on the path. */
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { PROBLEM_CONTENT_TYPE } from "../../../domain/problems/problem.ts"
import { FLOOR } from "../../../domain/protocol/padding.ts"
import { type Check, check } from "../Check.ts"
import { must, Violation } from "../outcome.ts"
import { each, failedAs } from "../expect.ts"
import { type Probe, SUITE_NAMES, UNSERVED } from "../Probe.ts"
import type { OpenedAnswer } from "../OpenedAnswer.ts"
import type { Received } from "../Wire.ts"

const END_RECORD_BYTES = 4092
const PROMPT = { prompt: "hello" }

/** Headers of transport and time, which may differ between two answers. */
const OF_TRANSPORT = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length"])
const EVERY_ANSWER = { "cache-control": "no-store, no-transform", "x-content-type-options": "nosniff" }
const EVERY_STREAM = { "x-accel-buffering": "no" }
/** Headers that reveal something about an exchange. */
const TELLING =
  /^(retry-after|traceparent|tracestate|server-timing|x-request-id|(x-)?ratelimit.*|x-b3.*|age|etag|set-cookie|content-encoding)$/

const headersOf = ({ headers }: Received): string =>
  Object.entries(headers)
    .filter(([name]) => !OF_TRANSPORT.has(name))
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
    .join("\n")

/** Failures that call no provider, and an answer, if there is a provider. */
const KINDS: ReadonlyArray<readonly [what: string, members: JsonObject]> = [
  ["an unsupported api", UNSERVED],
  ["an invalid request", { body: { messages: [] } }],
  ["a stale request", { issued_at: 1 }],
  ["an unknown provider", { provider: "provider-of-the-conformance-kit" }],
]

const ofForm = (members: JsonObject, stream: boolean): JsonObject => ({
  ...members,
  body: stream ? { ...Object(members["body"] ?? PROMPT), stream } : (members["body"] ?? PROMPT),
})

const recordOf = ({ frames }: OpenedAnswer) => {
  const frame = frames.at(-1)
  if (frame === undefined) throw new Violation("there is no frame")
  return frame
}

const sameHeaders = async (probe: Probe, stream: boolean): Promise<string> => {
  const answers = [(await probe.asking({ body: { ...PROMPT, stream } })).received]
  for (const [, members] of KINDS) answers.push((await probe.asking(ofForm(members, stream))).received)
  const [first, ...others] = answers.map(headersOf)
  for (const [index, other] of others.entries()) {
    must(
      other === first,
      `the headers of ${KINDS[index]?.[0]} differ: ${other.replaceAll("\n", "; ")} and not ${first?.replaceAll("\n", "; ")}`,
    )
  }
  const telling = Object.keys(answers[0]?.headers ?? {}).filter((name) => TELLING.test(name))
  must(telling.length === 0, `these headers reveal something about the exchange: ${telling.join(", ")}`)
  return `${answers.length} answers with the same headers`
}

const MANY_ISSUES = Array.from({ length: 500 }, (_, index) => ({ role: `role-${index}-${"é".repeat(40)}`, content: 7 }))

export const completeChecks: ReadonlyArray<Check> = [
  ...SUITE_NAMES.map((suite) =>
    check(
      "P32",
      `complete-${suite.toLowerCase()}`,
      `a complete answer under ${suite} opens and verifies`,
      async (probe) => {
        const { data, end, form } = await probe.served({ body: PROMPT }, suite)
        must(form === "complete", `it has the form ${form}`)
        must(Array.isArray(data[0]?.["choices"]), "it is no chat completion")
        return `served by ${end.receipt.provider} (${end.receipt.model})`
      },
    ),
  ),
  check(
    "P30",
    "form-by-payload",
    "the form is stream exactly when the body of the payload says stream: true",
    async (probe) => {
      const rows: ReadonlyArray<readonly [members: JsonObject, form: string]> = [
        [{ ...UNSERVED, body: { ...PROMPT, stream: true } }, "stream"],
        [{ ...UNSERVED, body: { ...PROMPT, stream: false } }, "complete"],
        [{ ...UNSERVED, body: PROMPT }, "complete"],
        [{ ...UNSERVED, body: { ...PROMPT, stream: "true" } }, "complete"],
        [{ ...UNSERVED, body: { ...PROMPT, stream: 1 } }, "complete"],
        [{ ...UNSERVED, stream: true }, "complete"],
        [{ request_id: null, body: { stream: true } }, "stream"],
        [{ body: [{ stream: true }] }, "complete"],
      ]
      return each(rows, async ([members, form]) => {
        const answer = await probe.asking(members)
        must(answer.form === form, `${JSON.stringify(members)} is answered in the form ${answer.form}`)
        return form
      })
    },
  ),
  check("P31", "headers-complete", "a complete answer has the same status and headers whatever the outcome", (probe) =>
    sameHeaders(probe, false),
  ),
  check("P31", "headers-stream", "a stream has the same status and headers whatever the outcome", (probe) =>
    sameHeaders(probe, true),
  ),
  check(
    "P31",
    "headers-of-answers",
    "answers may not be stored, changed, sniffed or, as streams, buffered",
    async (probe) =>
      each([false, true], async (stream) => {
        const { headers } = (await probe.asking(ofForm(UNSERVED, stream))).received
        for (const [name, value] of Object.entries({ ...EVERY_ANSWER, ...(stream ? EVERY_STREAM : {}) })) {
          must(headers[name] === value, `${name} is ${headers[name] ?? "missing"}`)
        }
        return stream ? "a stream has the required headers" : "a complete answer has the required headers"
      }),
  ),
  check("P31", "sizes-complete", "a short answer and a failure have the same sizes on the wire", async (probe) => {
    const answers = [await probe.served({ body: { prompt: "hi" } })]
    for (const [, members] of KINDS) answers.push(await probe.asking(ofForm(members, false)))
    const sizes = answers.map(({ frames }) => frames.map(({ block }) => block.length).join(" and "))
    const [answered, ...failed] = sizes
    must(new Set(failed).size === 1, `failures have blocks of ${failed.join(", of ")} bytes`)
    must(failed[0] === `${FLOOR} and ${END_RECORD_BYTES + 4}`, `failures have blocks of ${failed[0]} bytes`)
    return `failures have blocks of ${failed[0]} bytes, a short answer of ${answered}`
  }),
  check("P32", "white-space-first", "a complete answer begins with a space, which is sent at once", async (probe) => {
    const { received } = await probe.asking(UNSERVED)
    must(received.body[0] === 0x20, "the first byte of the body is no space")
    return "the first byte is a space"
  }),
  check("P32", "null-if-failed", "the first payload is null exactly when the answer is not complete", async (probe) => {
    const { data } = await probe.asking(UNSERVED)
    must(data[0] === null, "a failure has an answer in its first frame")
    const { data: answered } = await probe.served({ body: PROMPT })
    must(isObject(answered[0]), "an answer has null in its first frame")
    return "null of a failure, an object of an answer"
  }),
  check("P40", "end-record-size", "every end record has 4092 bytes, filled with white space", async (probe) => {
    const asked: ReadonlyArray<JsonObject> = [
      { body: PROMPT },
      { body: { ...PROMPT, stream: true } },
      ...KINDS.map(([, members]) => members),
      { body: { messages: MANY_ISSUES } },
    ]
    return each(asked, async (members) => {
      const { payload } = recordOf(await probe.asking(members))
      must(payload.length === END_RECORD_BYTES, `an end record has ${payload.length} bytes`)
      return `${payload.length} bytes`
    })
  }),
  check("P39", "end-record-members", "an end record says how it ended, and of a failure why", async (probe) =>
    each(KINDS, async ([what, members]) => {
      const { record } = await probe.asking(ofForm(members, false))
      const missing = ["status", "finish_reasons", "usage", "problem", "receipt"].filter(
        (name) => record[name] === undefined,
      )
      must(missing.length === 0, `the end record of ${what} lacks ${missing.join(", ")}`)
      must(Array.isArray(record["finish_reasons"]), "finish_reasons is no array")
      const { problem } = record
      must(
        isObject(problem) && typeof problem["trace_id"] === "string",
        `the problem of ${what} has no trace_id by which its operator finds it`,
      )
      return "every member"
    }),
  ),
  check(
    "P18",
    "no-sealed-problem-form",
    "an opened request is never answered with an unsealed problem document",
    async (probe) => {
      const { received } = await probe.asking({ body: null })
      must(!(received.headers["content-type"] ?? "").startsWith(PROBLEM_CONTENT_TYPE), "it is")
      return received.headers["content-type"] ?? ""
    },
  ),
  check("P10", "request-large", "a request as long as max_request_bytes allows is opened", async (probe) => {
    const session = await probe.session()
    const bytes = Math.min(Math.floor(session.maxRequestBytes * 0.9), 900_000)
    const answer = await probe.ask(
      { payload: probe.payload(session, { ...UNSERVED, note: "x".repeat(bytes - 2000) }) },
      session,
    )
    return `${failedAs(answer, "such a request", "unsupported-api")}, of ${bytes} bytes`
  }),
]
