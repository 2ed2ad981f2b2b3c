/** Sealed requests to a proxy. */
import * as reference from "../reference.ts"
import { b64u, bytes, fromHex, hex, text } from "../reference.ts"
import type { Vectors } from "../vectors.ts"
import type { Asked } from "./asked.ts"
import { JSON_TYPE, withByte } from "./common.ts"

/** Points of X25519. */
const SMALL_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
const NOT_CANONICAL = [
  // Nine, plus the prime, and with the top bit set.
  "f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0900000000000000000000000000000000000000000000000000000000000080",
]

export const makeRequests = async (vectors: Vectors): Promise<ReadonlyArray<Asked>> => {
  const session = vectors.sessions.X25519
  const sessionId = fromHex(session.session_id)
  const now = session.begun_at_ms + 60_000
  let sealed = 0

  interface Sealing {
    readonly credential?: string
    readonly content?: Buffer
    readonly block?: (block: Buffer) => Buffer
  }
  const seal = async (payload: string, { block = (same) => same, content, credential = "" }: Sealing = {}) => {
    const inside = content ?? reference.content(credential, text(payload))
    const ephemeral = reference.sha256(text(`negative ${sealed++}`))
    const info = reference.requestInfo(session.attestation)
    const { ciphertext, enc, secret } = await reference.hpkeSeal(
      fromHex(session.public_key),
      { suite: "X25519", info, aad: reference.requestAad(sessionId) },
      block(reference.block(inside, reference.FLOOR)),
      ephemeral,
    )
    return {
      body: { session_id: b64u(sessionId), enc: b64u(enc), ciphertext: b64u(ciphertext) },
      opens: {
        exported_secret: hex(secret),
        request_hash: hex(reference.requestHash(session.attestation, enc, ciphertext)),
      },
    }
  }
  const ask = (rule: string, why: string, body: unknown, more: Partial<Asked>): Asked => ({
    rules: [rule],
    why,
    path: "/v1/completions",
    received_at_ms: now,
    content_type: JSON_TYPE,
    body: typeof body === "string" ? body : JSON.stringify(body),
    status: 400,
    ...more,
  })
  let ids = 0
  const nextId = () => `018f3b1e-7c1a-7d2b-8a3c-${String(++ids).padStart(12, "0")}`
  const payloadOf = (change: object) => ({
    request_id: nextId(),
    issued_at: now,
    api: "chat.completions",
    body: { prompt: "Hello" },
    ...change,
  })
  const requestIdIn = (payload: string): string | null =>
    /^\{"request_id":"([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})"/.exec(payload)?.[1] ?? null

  /** A payload that is answered under the seal. */
  const inside = async (
    rule: string,
    why: string,
    change: object | string,
    problem?: readonly [number, string],
    more: Partial<Asked> & Sealing = {},
  ): Promise<Asked> => {
    const payload = typeof change === "string" ? change : JSON.stringify(payloadOf(change))
    const { body, opens } = await seal(payload, more)
    const { block: _block, content: _content, credential: _credential, sealed, ...rest } = more
    return ask(rule, why, body, {
      session: session.name,
      status: 200,
      ...(problem === undefined ? {} : { code: problem[1] }),
      ...opens,
      sealed: {
        form: "complete",
        status: problem === undefined ? "complete" : "failed",
        jti: requestIdIn(payload),
        ...(problem === undefined ? {} : { problem_status: problem[0] }),
        ...sealed,
      },
      ...rest,
    })
  }
  /** Sealed requests that do not open. */
  const unopenable = async (rule: string, why: string, sealing: Sealing) => {
    const { body } = await seal(JSON.stringify(payloadOf({})), sealing)
    return ask(rule, why, body, { session: session.name, code: "unopenable" })
  }
  const good = await seal(JSON.stringify(payloadOf({})))
  const invalid = [400, "invalid-request"] as const
  const message = { model: "any", max_tokens: 16, messages: [{ role: "user", content: "Hello" }] }
  const outer = (rule: string, why: string, change: object, code: string, more: Partial<Asked> = {}) =>
    ask(rule, why, { ...good.body, ...change }, { session: session.name, code, ...more })
  const same = JSON.stringify(payloadOf({}))
  const json = (change: object) => JSON.stringify(payloadOf(change))
  const first = await inside("P21", "a request_id for the first time", same)
  return [
    // Outside the seal.
    outer("P1", "an enc with padding", { enc: `${good.body.enc}=` }, "malformed"),
    outer("P7", "no ciphertext", { ciphertext: undefined }, "malformed"),
    outer("P7", "a session_id of 15 bytes", { session_id: b64u(sessionId.subarray(1)) }, "malformed"),
    ask("P2", "a member twice", JSON.stringify(good.body).replace("{", `{"session_id":"${good.body.session_id}",`), {
      code: "malformed",
    }),
    outer("P16", "a session that nobody began", { session_id: b64u(Buffer.alloc(16)) }, "session-gone", {
      status: 410,
    }),
    ...SMALL_ORDER.map((enc) => outer("P5", "an enc of small order", { enc: b64u(fromHex(enc)) }, "unopenable")),
    ...NOT_CANONICAL.map((enc) =>
      outer("P5", "an enc that is not canonical", { enc: b64u(fromHex(enc)) }, "unopenable"),
    ),
    outer("P5", "an enc of another suite's length", { enc: b64u(Buffer.alloc(1120, 9)) }, "unopenable"),
    outer("P17", "a ciphertext with one bit changed", { ciphertext: withByte(good.body.ciphertext, 7) }, "unopenable"),
    await unopenable("P13", "no room for the length of a credential", { content: Buffer.alloc(3) }),
    await unopenable("P13", "a credential of 8193 bytes", { credential: "a".repeat(8193) }),
    await unopenable("P13", "a credential that goes beyond the content", {
      content: bytes(reference.u32(9), text("Bearer a")),
    }),
    await unopenable("P13", "a credential that is not UTF-8", {
      content: bytes(reference.u32(1), Buffer.of(0xff), text("{}")),
    }),
    await unopenable("P15", "a byte behind the content that is not zero", {
      block: (block) => bytes(block.subarray(0, -1), Buffer.of(1)),
    }),
    await unopenable("P15", "a block that is larger than its content has it", {
      block: (block) => bytes(block, Buffer.alloc(64)),
    }),
    await unopenable("P15", "a length that points beyond the block", {
      block: (block) => bytes(reference.u32(block.length), block.subarray(4)),
    }),
    await unopenable("P15", "a block below the floor", { block: (block) => block.subarray(0, 512) }),
    ask("P17", "the same bytes a second time", good.body, {
      session: session.name,
      before: [JSON.stringify(good.body)],
      status: 409,
      code: "replayed",
    }),
    ask("P16", "the same bytes when the session has ended", good.body, {
      session: session.name,
      received_at_ms: Number(session.claims["expires_at"]) * 1000,
      status: 410,
      code: "session-gone",
    }),
    // Under the seal.
    await inside("P3", "a member that a proxy does not know", { note: { a: 1 } }),
    await inside(
      "P2",
      "a payload with a member twice",
      '{"request_id":"","request_id":"018f3b1e-7c1a-7d2b-8a3c-000000000000"}',
      invalid,
    ),
    await inside("P2", "a payload that is not UTF-8", "", invalid, {
      content: bytes(reference.u32(0), text('{"request_id":"'), Buffer.of(0xff), text('"}')),
    }),
    await inside("P2", "an integer beyond 2^53 - 1", { issued_at: 2 ** 53 }, invalid),
    await inside("P18", "a payload that is no JSON", "Hello", invalid),
    await inside("P22", "no request_id", json({ request_id: undefined }), invalid),
    await inside("P22", "a request_id in upper case", { request_id: "018F3B1E-7C1A-7D2B-8A3C-000000000000" }, invalid),
    await inside("P18", "no issued_at", { issued_at: undefined }, invalid),
    await inside("P23", "a request that was issued 60 s ago", { issued_at: now - 60_000 }),
    await inside("P23", "a request that was issued 60.001 s ago", { issued_at: now - 60_001 }, [400, "stale"]),
    await inside("P23", "a request that is issued in 60.001 s", { issued_at: now + 60_001 }, [400, "stale"]),
    await inside("P18", "one that is stale, of an API that nobody knows", { issued_at: 0, api: "x" }, [400, "stale"]),
    await inside("P25", "a restart that is no boolean", { restart: "no" }, invalid),
    await inside("P26", "a pace that is text", { pace: "fast" }),
    await inside("P27", "an API that nobody knows", { api: "conformance.none" }, [400, "unsupported-api"]),
    await inside("P28", "neither messages nor a prompt", { body: {} }, invalid),
    await inside(
      "P46",
      "a header that is about the caller",
      { api: "messages", headers: { "x-api-key": "k" }, body: message },
      invalid,
    ),
    await inside(
      "P46",
      "a header of another API",
      { api: "responses", headers: { "anthropic-version": "2023-06-01" }, body: { input: "Hello" } },
      invalid,
    ),
    await inside(
      "P46",
      "the name of a header in capitals",
      { api: "messages", headers: { "Anthropic-Version": "2023-06-01" }, body: message },
      invalid,
    ),
    await inside(
      "P46",
      "a header with a line break",
      { api: "messages", headers: { "anthropic-version": "2023-06-01\r\nx: y" }, body: message },
      invalid,
    ),
    await inside("P46", "headers that are a list", { api: "messages", headers: ["a"], body: message }, invalid),
    await inside("P47", "a model that is a number", { api: "messages", body: { ...message, model: 1 } }, invalid),
    await inside("P47", "a model without a name", { api: "messages", body: { ...message, model: "" } }, invalid),
    await inside(
      "P47",
      "a model of 257 characters",
      { api: "messages", body: { ...message, model: "m".repeat(257) } },
      invalid,
    ),
    await inside("P47", "a stream that is text", { api: "messages", body: { ...message, stream: "true" } }, invalid),
    await inside("P47", "a body that is a list", { api: "messages", body: [message] }, invalid),
    await inside(
      "P47",
      "a response that is made in the background",
      { api: "responses", body: { input: "Hello", background: true } },
      invalid,
    ),
    await inside(
      "P28",
      "messages and a prompt",
      { body: { prompt: "Hello", messages: [{ role: "user", content: "Hello" }] } },
      invalid,
    ),
    await inside(
      "P28",
      "a system text beside messages",
      { body: { system: "Be kind.", messages: [{ role: "user", content: "Hello" }] } },
      invalid,
    ),
    await inside("P30", "a stream that is asked for in text", { body: { prompt: "Hello", stream: "true" } }, invalid),
    await inside("P30", "a stream that is wrong in everything else", '{"body":{"stream":true}}', invalid, {
      sealed: { form: "stream", status: "failed", jti: null },
    }),
    first,
    await inside("P21", "the same request_id, sealed anew", same, [409, "replayed"], { before: [first.body ?? ""] }),
  ]
}
