/** Checks that faults of a payload are answered under the seal. */
import { randomUUID } from "node:crypto"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { MAX_SKEW_MS } from "../../../domain/protocol/transcript.ts"
import { type Check, check } from "../Check.ts"
import { must, skip } from "../outcome.ts"
import { each, failedAs } from "../expect.ts"
import { type Probe, PROMPT, UNSERVED } from "../Probe.ts"
import { BAD_JSON } from "./badJson.ts"

const MESSAGES = [{ role: "user", content: PROMPT }]

const MESSAGE = { model: "any", max_tokens: 16, messages: MESSAGES }

/** Checks that each of these members, in an otherwise valid payload, fails with `code`. */
const failing = (probe: Probe, code: string, payloads: ReadonlyArray<readonly [what: string, members: JsonObject]>) =>
  each(payloads, async ([what, members]) => failedAs(await probe.asking(members), what, code))

const asBytes = async (probe: Probe, what: string, spoil: (json: string) => string | Uint8Array, code: string) => {
  const session = await probe.session()
  const payload = spoil(JSON.stringify(probe.payload(session)))
  return failedAs({ record: await probe.record({ payload }, session) }, what, code)
}

/** Skips the check unless the server knows the API. The unknown provider prevents a call. */
const having = async (probe: Probe, api: string): Promise<Probe> => {
  const { record } = await probe.asking({ api, provider: UNKNOWN_PROVIDER, body: MESSAGE })
  const { problem } = record
  if (isObject(problem) && problem["code"] === "unsupported-api") skip(`the server does not have the API ${api}`)
  return probe
}

/** Well beyond the allowed skew, so that a second of latency makes no difference. */
const BEYOND_MS = MAX_SKEW_MS + 5000
const WITHIN_MS = MAX_SKEW_MS - 15_000

const at = async (probe: Probe, shift: number, more: JsonObject = {}): Promise<JsonObject> => ({
  ...UNSERVED,
  issued_at: Date.now() + (await probe.session()).clockOffset + shift,
  ...more,
})

const UNKNOWN_PROVIDER = "provider-of-the-conformance-kit"

export const payloadChecks: ReadonlyArray<Check> = [
  check("P2", "payload-i-json", "a payload that is not I-JSON is an invalid request", (probe) =>
    each(BAD_JSON, ([what, spoil]) => asBytes(probe, what, spoil, "invalid-request")),
  ),
  check("P18", "payload-no-object", "a payload that is no object is an invalid request", (probe) =>
    each(["[]", "null", '"text"', "", "7"], (text) =>
      asBytes(probe, `the payload ${text}`, () => text, "invalid-request"),
    ),
  ),
  check(
    "P4",
    "payload-json-limits",
    "a payload of more than 64 levels, or of more than 32768 values, is an invalid request",
    (probe) =>
      each(
        [
          ["70 levels", `"deep":${"[".repeat(70)}${"]".repeat(70)}`],
          ["32800 values", `"many":[${Array.from({ length: 32_800 }, () => "[]").join()}]`],
        ] as const,
        ([what, member]) => asBytes(probe, what, (json) => `{${member},${json.slice(1)}`, "invalid-request"),
      ),
  ),
  check(
    "P23",
    "payload-stale",
    "a request issued more than a minute ago, or as far in the future, is stale",
    async (probe) =>
      failing(probe, "stale", [
        ["a request issued 65 s ago", await at(probe, -BEYOND_MS)],
        ["a request issued 65 s in the future", await at(probe, BEYOND_MS)],
      ]),
  ),
  check("P23", "payload-fresh", "a request of less than a minute ago is not stale", async (probe) =>
    failing(probe, "unsupported-api", [
      ["a request issued 45 s ago", await at(probe, -WITHIN_MS)],
      ["a request issued 45 s in the future", await at(probe, WITHIN_MS)],
    ]),
  ),
  check("P18", "payload-issued-at", "an issued_at that is no integer is an invalid request", (probe) =>
    failing(probe, "invalid-request", [
      ["an issued_at that is a text", { issued_at: String(Date.now()) }],
      ["an issued_at of 2^60", { issued_at: 2 ** 60 }],
      ["an issued_at that is null", { issued_at: null }],
    ]),
  ),
  check("P23", "payload-integer", "an integer counts by its value, however it is written", (probe) =>
    each([".0", "e0"], (spelling) =>
      asBytes(
        probe,
        `an issued_at with ${spelling} behind it`,
        (json) =>
          json.replace(/("issued_at":)(\d+)(\.\d+)?/, `$1$2${spelling}`).replace('"chat.completions"', '"none"'),
        "unsupported-api",
      ),
    ),
  ),
  check(
    "P22",
    "payload-request-id",
    "a request_id that is no UUID in lower case is an invalid request, and in no receipt",
    (probe) =>
      each(
        [randomUUID().toUpperCase(), "request-1", `{${randomUUID()}}`, randomUUID().replaceAll("-", ""), null, 7],
        async (request_id) => {
          const answer = await probe.asking({ request_id })
          const way = failedAs(answer, `the request_id ${String(request_id)}`, "invalid-request")
          must(answer.end.receipt.jti === null, `the receipt has the jti ${String(answer.end.receipt.jti)}`)
          return `${way}, jti null`
        },
      ),
  ),
  check("P22", "payload-request-id-versions", "a request_id may be a UUID of any version", (probe) =>
    each(["1", "7", "0", "f"], async (version) => {
      const request_id = randomUUID().replace(/^(.{14})./, `$1${version}`)
      const answer = await probe.asking({ ...UNSERVED, request_id })
      must(answer.end.receipt.jti === request_id, "the receipt does not repeat it as its jti")
      return failedAs(answer, "such a request", "unsupported-api")
    }),
  ),
  check("P18", "payload-order", "a stale request is reported as stale before any other fault", async (probe) =>
    failing(probe, "stale", [
      ["a stale request to an unknown provider", await at(probe, -BEYOND_MS, { provider: UNKNOWN_PROVIDER })],
      ["a stale request for no API", await at(probe, -BEYOND_MS)],
    ]),
  ),
  check("P27", "payload-api", "an unknown api is unsupported", (probe) =>
    failing(probe, "unsupported-api", [
      ["an invented api", UNSERVED],
      ["an api in capitals", { api: "CHAT.COMPLETIONS" }],
    ]),
  ),
  check(
    "P28",
    "payload-body",
    "a body that has not exactly one of messages and prompt is an invalid request",
    (probe) =>
      failing(probe, "invalid-request", [
        ["a body with both", { body: { prompt: PROMPT, messages: MESSAGES } }],
        ["a body with neither", { body: { model: "any" } }],
        ["a body with both system and messages", { body: { system: "Be brief.", messages: MESSAGES } }],
        ["a body that is a text", { body: PROMPT }],
        ["no body", { body: null }],
        ["no messages", { body: { messages: [] } }],
      ]),
  ),
  check("P46", "payload-headers", "a header that does not belong to the API is an invalid request", (probe) =>
    failing(
      probe,
      "invalid-request",
      [
        ["a header about the caller", { "x-api-key": "k" }],
        ["a header of no API", { "anthropic-version": "2023-06-01" }],
      ].map(([what, headers]) => [`${String(what)}, for chat.completions`, { headers }] as const),
    ),
  ),
  check("P46", "payload-headers-messages", "so is a header that Messages do not have", async (probe) =>
    failing(
      await having(probe, "messages"),
      "invalid-request",
      [
        ["a header about the caller", { "x-api-key": "k" }],
        ["a header in capitals", { "Anthropic-Version": "2023-06-01" }],
        ["a header of another API", { "openai-beta": "x" }],
        ["a header with a line break", { "anthropic-version": "a\r\nb" }],
        ["a header without a value", { "anthropic-beta": "" }],
      ].map(([what, headers]) => [String(what), { api: "messages", headers, body: MESSAGE }] as const),
    ),
  ),
  check("P47", "payload-known-members", "members that concern the proxy are checked in any body", (probe) =>
    failing(probe, "invalid-request", [
      ["a model that is a number", { body: { messages: MESSAGES, model: 1 } }],
      ["a model without a name", { body: { messages: MESSAGES, model: "" } }],
      ["a model of 257 characters", { body: { messages: MESSAGES, model: "m".repeat(257) } }],
      ["a stream that is text", { body: { messages: MESSAGES, stream: "true" } }],
    ]),
  ),
  check("P47", "payload-known-members-messages", "it is looked at in Messages", async (probe) =>
    failing(await having(probe, "messages"), "invalid-request", [
      ["a model that is a number", { api: "messages", body: { ...MESSAGE, model: 1 } }],
      ["a stream that is text", { api: "messages", body: { ...MESSAGE, stream: "true" } }],
    ]),
  ),
  check("P47", "payload-known-members-responses", "it is looked at in Responses", async (probe) =>
    failing(await having(probe, "responses"), "invalid-request", [
      ["an answer made in the background", { api: "responses", body: { input: PROMPT, background: true } }],
    ]),
  ),
  check("P24", "payload-provider", "an unknown provider is reported as not configured", (probe) =>
    failing(probe, "provider-not-configured", [["such a request", { provider: UNKNOWN_PROVIDER }]]),
  ),
  check("P3", "payload-unknown-members", "unknown members of a payload are ignored", (probe) =>
    failing(probe, "unsupported-api", [["such a request", { ...UNSERVED, extension: { of: [1.5, null] } }]]),
  ),
  check(
    "P18",
    "payload-credential",
    "without the credential that the server requires, no request is served",
    async (probe) => {
      if (probe.credential === "")
        return skip("no credential was given to the kit, so the server is taken to be open to everybody")
      const session = await probe.session()
      return each(["", "Bearer nobody"], async (credential) =>
        failedAs(
          await probe.ask({ payload: probe.payload(session, UNSERVED), credential }, session),
          `the credential "${credential}"`,
          "unauthorized",
        ),
      )
    },
  ),
  check(
    "P42",
    "payload-credential-committed",
    "the receipt commits to the credential, whether or not the server asks for one",
    async (probe) => {
      const session = await probe.session()
      const credential = probe.credential === "" ? "Bearer of the conformance kit" : probe.credential
      const answer = await probe.ask({ payload: probe.payload(session, UNSERVED), credential }, session)
      return `${failedAs(answer, "such a request", "unsupported-api")}, with a commitment to ${credential.length} characters`
    },
  ),
]
