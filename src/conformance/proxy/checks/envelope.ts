/** Checks of refusals before a request is opened, and of members and headers that must be ignored. */
import { randomUUID } from "node:crypto"
import { encodeBase64Url } from "../../../domain/bytes/bytes.ts"
import { parseIJson } from "../../../domain/json/iJson.ts"
import { isObject } from "../../../domain/json/json.ts"
import { randomBytes } from "../../../client/crypto/primitives.ts"
import { type Check, check } from "../Check.ts"
import { must, skip } from "../outcome.ts"
import { each, refusedAs } from "../expect.ts"
import { withUnusedBit } from "../../spelling.ts"
import { BAD_JSON } from "./badJson.ts"
import { sealed, sentWith } from "./sending.ts"

type Changed = readonly [what: string, change: object]

const without = (body: object, name: string) =>
  JSON.stringify(Object.fromEntries(Object.entries(body).filter(([member]) => member !== name)))

export const envelopeChecks: ReadonlyArray<Check> = [
  check(
    "P16",
    "request-members",
    "a body without its three members, or with others' values in them, is refused",
    async (probe) => {
      const request = await sealed(probe)
      const { body } = request.sealed.sent
      const changes: ReadonlyArray<Changed> = [
        ["a session_id of 15 bytes", { session_id: encodeBase64Url(randomBytes(15)) }],
        ["a padded session_id", { session_id: `${body.session_id}==` }],
        ["a session_id that is a number", { session_id: 1 }],
        ["an enc of 31 bytes", { enc: encodeBase64Url(randomBytes(31)) }],
        ["an enc of 1121 bytes", { enc: encodeBase64Url(randomBytes(1121)) }],
        ["an enc with a character of another alphabet", { enc: body.enc.replace(/.$/, "*") }],
        ["an enc that is null", { enc: null }],
        ["a ciphertext that is a number", { ciphertext: 7 }],
        ["a ciphertext with a character of another alphabet", { ciphertext: `${body.ciphertext}*` }],
      ]
      const missing = await each(Object.keys(body), async (member) =>
        refusedAs(await probe.post(without(body, member)), `a body without ${member}`, "400 malformed"),
      )
      return `${await each(changes, async ([what, change]) => refusedAs(await sentWith(probe, request.sealed, change), what, "400 malformed"))}, ${missing}`
    },
  ),
  check("P2", "request-i-json", "a body that is not I-JSON is refused", async (probe) => {
    const { sealed: request } = await sealed(probe)
    return each(BAD_JSON, async ([what, spoil]) =>
      refusedAs(await probe.post(spoil(request.body)), what, "400 malformed"),
    )
  }),
  check(
    "P4",
    "request-json-limits",
    "a body of more than 64 levels, or of more than 32768 values, is refused",
    (probe) =>
      each(
        [
          ["a body of 70 levels", `{"deep":${"[".repeat(70)}${"]".repeat(70)}}`],
          ["a body of 32800 values", JSON.stringify({ many: Array.from({ length: 32_800 }, () => 0) })],
        ] as const,
        async ([what, body]) => refusedAs(await probe.post(body), what, "400 malformed"),
      ),
  ),
  check("P4", "request-levels", "a body of exactly 64 levels is taken, and one of 65 is not", async (probe) => {
    const { sealed: request } = await sealed(probe)
    const nested = (arrays: number) => `{"deep":${"[".repeat(arrays)}${"]".repeat(arrays)},${request.body.slice(1)}`
    const refused = refusedAs(await probe.post(nested(64)), "a body of 65 levels", "400 malformed")
    await probe.open(await probe.post(nested(63)), request)
    return `65 levels: ${refused}; 64 were opened`
  }),
  check(
    "P16",
    "request-too-large-first",
    "the size of the ciphertext is checked before the session and its claims",
    async (probe) => {
      const { sealed: request, session } = await sealed(probe)
      const ciphertext = "A".repeat(Math.ceil((session.maxRequestBytes * 4) / 3) + 8)
      const session_id = encodeBase64Url(randomBytes(16))
      return refusedAs(
        await sentWith(probe, request, {
          ciphertext: ciphertext.slice(0, -(ciphertext.length % 4) || undefined),
          session_id,
        }),
        "a ciphertext that is too long, in no session",
        "413 too-large",
      )
    },
  ),
  check("P16", "request-origin", "a request from a web page of another origin is refused", async (probe) => {
    const { sealed: request } = await sealed(probe)
    return refusedAs(
      await probe.post(request.body, { origin: "https://conformance.invalid" }),
      "a request of another origin",
      "403 cross-origin",
    )
  }),
  check("P16", "request-host", "a request under another host name than the server's is refused", async (probe) => {
    const { sealed: request } = await sealed(probe)
    const received = await probe.post(request.body, { host: "conformance.invalid" })
    if (received.status === 200 && !probe.isLocal) return skip("this server is not local, and may serve every name")
    return refusedAs(received, "a request under another name", "421 misdirected")
  }),
  check("P3", "request-unknown-members", "unknown members of a body are ignored", async (probe) => {
    const { sealed: request } = await sealed(probe)
    await probe.open(await sentWith(probe, request, { extension: { of: [1.5] } }), request)
    return "it was opened"
  }),
  check("P44", "request-media-type", "a body that is not application/json is refused", async (probe) => {
    const { sealed: request } = await sealed(probe)
    return refusedAs(
      await probe.post(request.body, { "content-type": "text/plain" }),
      "a body as text/plain",
      "415 unsupported-media-type",
    )
  }),
  check("P44", "request-unknown-session", "a request to an unknown session is refused", async (probe) => {
    const { sealed: request } = await sealed(probe)
    return refusedAs(
      await sentWith(probe, request, { session_id: encodeBase64Url(randomBytes(16)) }),
      "an unknown session",
      "410 session-gone",
    )
  }),
  check("P44", "request-too-large", "a ciphertext longer than max_request_bytes is refused", async (probe) => {
    const { sealed: request, session } = await sealed(probe)
    const ciphertext = encodeBase64Url(randomBytes(Math.min(session.maxRequestBytes, 65_536)))
    const long = ciphertext.repeat(Math.ceil(session.maxRequestBytes / 65_536) + 1)
    return refusedAs(
      await sentWith(probe, request, { ciphertext: long }),
      "a ciphertext that is too long",
      "413 too-large",
    )
  }),
  check(
    "P14",
    "request-route",
    "a session is found by session_id alone, whatever sealgate-route says",
    async (probe) => {
      const { sealed: request } = await sealed(probe)
      await probe.open(await probe.post(request.body, { "sealgate-route": "zzzz" }), request)
      return "it was opened under another route"
    },
  ),
  check("P12", "request-authorization", "the header Authorization is ignored", async (probe) => {
    const { sealed: request } = await sealed(probe)
    await probe.open(await probe.post(request.body, { authorization: `Bearer ${randomUUID()}` }), request)
    return "it was opened with an unknown header"
  }),
  check("P1", "request-base64url", "bytes in a spelling that is not canonical are refused", async (probe) => {
    const { sealed: request } = await sealed(probe)
    const { ciphertext, enc, session_id } = request.sent.body
    const changes: ReadonlyArray<Changed> = [
      ["a session_id with unused bits", { session_id: withUnusedBit(session_id) }],
      ["an enc with padding", { enc: `${enc}=` }],
      ["an enc with a line feed", { enc: `${enc}\n` }],
      ["a ciphertext with padding", { ciphertext: `${ciphertext}==` }],
      ["a ciphertext with white space", { ciphertext: `${ciphertext.slice(0, 8)} ${ciphertext.slice(8)}` }],
      [
        "a ciphertext with a surplus character",
        { ciphertext: `${ciphertext}${"A".repeat((5 - (ciphertext.length % 4)) % 4)}` },
      ],
      ["a ciphertext of the other alphabet", { ciphertext: `${ciphertext.slice(0, -1)}+` }],
    ]
    return each(changes, async ([what, change]) =>
      refusedAs(await sentWith(probe, request, change), what, "400 malformed", "400 unopenable"),
    )
  }),
  check(
    "P16",
    "request-order",
    "a request is checked in the order of the page: shape, claims, session; only then it is opened",
    async (probe) => {
      const { sealed: request } = await sealed(probe)
      await probe.open(await probe.post(request.body), request)
      const elsewhere = { session_id: encodeBase64Url(randomBytes(16)) }
      const broken = { ciphertext: encodeBase64Url(randomBytes(1040)) }
      const shape = refusedAs(
        await sentWith(probe, request, { ...elsewhere, enc: "" }),
        "no enc, in no session",
        "400 malformed",
      )
      const claim = refusedAs(
        await sentWith(probe, request, broken),
        "an enc that came before, which does not open",
        "409 replayed",
      )
      return `${shape}, ${claim}, ${refusedAs(await sentWith(probe, request, { ...elsewhere, ...broken }), "an unopenable request in no session", "410 session-gone")}`
    },
  ),
  check("P51", "path-unknown", "an unknown path, and another method on a known one, are refused", async (probe) => {
    const nowhere = await probe.wire.send("v1/conformance-none", {})
    const missing = refusedAs(nowhere, "an unknown path", "404 not-found")
    return `${missing}, ${await each(["v1/init", "v1/completions"], async (path) =>
      refusedAs(await probe.wire.send(path, {}), `GET /${path}`, "405 method-not-allowed"),
    )}`
  }),
  check("P45", "request-trace", "trace headers are ignored, and no answer has any", async (probe) => {
    const { sealed: request } = await sealed(probe)
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    const { headers } = (
      await probe.open(await probe.post(request.body, { traceparent, tracestate: "kit=1" }), request)
    ).received
    must(!JSON.stringify(headers).includes(traceparent.slice(3, 35)), "the trace comes back in a header")
    return "no header has the trace; requests to providers cannot be seen from outside"
  }),
  check(
    "P44",
    "refusal-members",
    "a refusal has the members of RFC 9457, a code, and whether it is retryable",
    async (probe) => {
      const { body } = await probe.post("{}")
      const problem = parseIJson(body)
      must(isObject(problem), "it is no object")
      const wrong = Object.entries(SHAPE).filter(([name, type]) => typeof problem[name] !== type)
      must(
        wrong.length === 0,
        `these members are missing or of another type: ${wrong.map(([name]) => name).join(", ")}`,
      )
      return Object.keys(SHAPE).join(", ")
    },
  ),
]

const SHAPE = { type: "string", title: "string", status: "number", code: "string", retryable: "boolean" }
