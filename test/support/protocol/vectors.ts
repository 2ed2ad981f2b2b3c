/** The published vectors: fixed inputs, everything else computed by the reference implementation. */
import { eventsOf, sealAnswer } from "../../../src/conformance/lyingProxy/answer.ts"
import { offerClaims } from "../../../src/conformance/lyingProxy/session.ts"
import { type Signers, state } from "../../../src/conformance/lyingProxy/statement.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { SuiteName } from "../../../src/domain/protocol/suites.ts"
import type { Form } from "../../../src/domain/protocol/transcript.ts"
import * as reference from "./reference.ts"
import { b64u, hex, text } from "./reference.ts"

const SEED = Buffer.from(Array.from({ length: 32 }, (_, i) => i))
const counting = (length: number, from: number) => Buffer.from(Array.from({ length }, (_, i) => from + i))
const CLIENT_NONCE = Buffer.from(Array.from({ length: 16 }, (_, i) => 0xf0 - i))
/** 2026-01-01T00:00:00Z, in milliseconds. */
const BEGUN_AT = 1_767_225_600_000

const ACCEPTED = ["", "00", "ff", "0001", "fbff", "000102", "fbefbe", "ffffffff", "666f6f626172"]
const REFUSED = [
  ["Zg==", "padding"],
  ["Zg=", "padding"],
  ["Zh", "bits after the last byte"],
  ["Zm9", "bits after the last byte"],
  ["Z", "a length no byte string has"],
  ["Zm9vY", "a length no byte string has"],
  ["Zm 9v", "white space"],
  ["Zm9v\n", "white space"],
  ["+/+/", "the other alphabet"],
  ["Zm9v.", "a character outside the alphabet"],
  ["Zm9ü", "a character outside the alphabet"],
] as const

const PADME_LENGTHS = [
  2, 3, 8, 9, 15, 16, 17, 100, 511, 512, 513, 1000, 1023, 1024, 1025, 1055, 1056, 1057, 1088, 1089, 2048, 2049, 4097,
  65_535, 65_536, 65_537, 1_000_000, 1_048_576, 1_048_577,
]

const NONCES = [
  ["000000000000000000000000", 1],
  ["ffffffffffffffffffffffff", 0],
  ["ffffffffffffffffffffffff", 1],
  ["101112131415161718191a1b", 255],
  ["101112131415161718191a1b", 256],
  ["101112131415161718191a1b", 4_294_967_296],
  ["101112131415161718191a1b", Number.MAX_SAFE_INTEGER],
] as const

const LABELS = [
  "request",
  "request-aad",
  "transcript",
  "response",
  "key",
  "nonce",
  "commit",
  "credential",
  "frame",
  "chain",
]

const small = () => ({
  base64url: {
    accepted: ACCEPTED.map((value) => ({ bytes: value, text: b64u(reference.fromHex(value)) })),
    refused: REFUSED.map(([value, why]) => ({ text: value, why })),
  },
  labels: LABELS.map((name) => ({ name, bytes: hex(reference.label(name)) })),
  padme: PADME_LENGTHS.map((length) => ({ length, size: reference.padme(length) })),
  blocks: (
    [
      ["", 8],
      ["7b7d", 8],
      ["000000", 8],
      ["0102030405", 8],
    ] as const
  ).map(([payload, floor]) => ({ payload, floor, block: hex(reference.block(reference.fromHex(payload), floor)) })),
  frame_nonces: NONCES.map(([base, index]) => ({
    base_nonce: base,
    index,
    nonce: hex(reference.frameNonce(reference.fromHex(base), index)),
  })),
})

const SUITES = {
  "MLKEM768-X25519": { secret: counting(32, 0x60), id: counting(16, 0xb0) },
  X25519: { secret: counting(32, 0x40), id: counting(16, 0xa0) },
} as const

const makeSession = (signers: Signers, suite: SuiteName) => {
  const { id, secret } = SUITES[suite]
  const offered = suite === "X25519" ? ["X25519" as const] : reference.SUITE_NAMES
  const suites = offered.map((name) => reference.SUITE_IDS[name])
  const body = JSON.stringify({ client_nonce: b64u(CLIENT_NONCE), suites })
  const limits = { lifetimeSeconds: 300, maxRequests: 256, maxRequestBytes: 784_896 }
  const offering = { suite, privateKey: secret, id, body, now: BEGUN_AT / 1000, ...limits }
  const signed = state(signers, "session", offerClaims(offering))
  return {
    name: suite,
    begun_at_ms: BEGUN_AT,
    session_id: hex(id),
    private_key: hex(secret),
    public_key: hex(reference.sessionPublicKey(suite, secret)),
    request_body: body,
    claims: signed.claims,
    signing_input: signed.signingInput,
    attestation: signed.statement,
    attestation_hash: hex(reference.sha256(text(signed.statement))),
  }
}
type Session = ReturnType<typeof makeSession>

interface Script {
  readonly name: string
  readonly suite: SuiteName
  readonly credential?: string
  readonly form: Form
  readonly description: string
  readonly requestId: string
  readonly ephemeral: number
  readonly receivedAt: number
  readonly completedAt: number
  /** The body of the request. */
  readonly completion: object
  /** Default: `chat.completions`. */
  readonly api?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly provider?: string
  readonly pace?: number
  readonly restart?: boolean
  /** Bytes sent in place of a readable payload. */
  readonly raw?: string
  /** Data frames. */
  readonly payloads: ReadonlyArray<object | null>
  readonly status: "complete" | "failed" | "aborted"
  readonly problem?: object
  readonly end: {
    readonly provider: string | null
    readonly model: string | null
    readonly finish_reasons: ReadonlyArray<string>
    readonly usage: JsonObject | null
  }
}

/** The answer on the wire: one JSON body, or server-sent events in order. */
interface Body {
  readonly body?: { readonly response_nonce: string; readonly frames: ReadonlyArray<string> }
  readonly event_stream?: ReadonlyArray<{ readonly event: string; readonly data: string }>
}

const makeExchange = async (signers: Signers, session: Session, software: string, script: Script) => {
  const { credential = "", suite } = script
  const sessionId = SUITES[suite].id
  const fixed = Buffer.alloc(suite === "X25519" ? 32 : 64, script.ephemeral)
  const payload = text(
    script.raw ??
      JSON.stringify({
        request_id: script.requestId,
        issued_at: script.receivedAt,
        ...(script.provider === undefined ? {} : { provider: script.provider }),
        ...(script.restart === undefined ? {} : { restart: script.restart }),
        ...(script.pace === undefined ? {} : { pace: script.pace }),
        api: script.api ?? "chat.completions",
        ...(script.headers === undefined ? {} : { headers: script.headers }),
        body: script.completion,
      }),
  )
  const info = reference.requestInfo(session.attestation)
  const aad = reference.requestAad(sessionId)
  const padded = reference.block(reference.content(credential, payload), reference.FLOOR)
  const recipient = reference.fromHex(session.public_key)
  const { ciphertext, enc, secret } = await reference.hpkeSeal(recipient, { suite, info, aad }, padded, fixed)
  const requestHash = reference.requestHash(session.attestation, enc, ciphertext)
  const sealed = sealAnswer({
    signers,
    opened: {
      sessionId: b64u(sessionId),
      payloadBytes: payload,
      credential: text(credential),
      enc,
      secret,
      requestHash,
    },
    form: script.form,
    unpaced: script.pace === 0,
    script: {
      payloads: script.payloads,
      status: script.status,
      ...(script.problem === undefined ? {} : { problem: script.problem }),
      jti: script.raw === undefined ? script.requestId : null,
      ...script.end,
      receivedAt: Math.floor(script.receivedAt / 1000),
      completedAt: Math.floor(script.completedAt / 1000),
      software,
    },
    random: () => Buffer.alloc(32, script.ephemeral + 1),
  })
  const { commitments, exchange, frames, proof, receipt, wire } = sealed
  const { keys, responseNonce } = exchange
  const ending = {
    request_commitment: hex(commitments.request),
    response_commitment: hex(commitments.response),
    receipt: receipt.statement,
    receipt_claims: receipt.claims,
  }
  const body: Body =
    script.form === "stream"
      ? { event_stream: eventsOf(wire).map(({ data, event }) => ({ event, data: JSON.stringify(data) })) }
      : { body: { response_nonce: wire.response_nonce, frames: wire.frames } }

  return {
    name: script.name,
    session: suite,
    form: script.form,
    description: script.description,
    received_at_ms: script.receivedAt,
    completed_at_ms: script.completedAt,
    request: {
      credential,
      payload: payload.toString(),
      block: hex(padded),
      info: hex(info),
      aad: hex(aad),
      ...(suite === "X25519"
        ? { ephemeral_ikm: hex(fixed), ephemeral_private_key: hex(await reference.ephemeralPrivateKey(fixed)) }
        : { encapsulation_seed: hex(fixed) }),
      enc: hex(enc),
      ciphertext: hex(ciphertext),
      exported_secret: hex(secret),
      request_hash: hex(requestHash),
      body: { session_id: b64u(sessionId), enc: b64u(enc), ciphertext: b64u(ciphertext) },
    },
    response: {
      response_nonce: hex(responseNonce),
      prk: hex(keys.prk),
      key: hex(keys.key),
      base_nonce: hex(keys.baseNonce),
      commit_key: hex(keys.commitKey),
      credential_key: hex(keys.credentialKey),
      credential_commitment: hex(reference.credentialCommitment(keys, text(credential))),
      chain_seed: hex(reference.chainSeed(requestHash, responseNonce)),
      frames: frames.map((frame) => ({
        index: frame.index,
        final: frame.final,
        payload: frame.payload.toString(),
        block: hex(frame.block),
        nonce: hex(frame.nonce),
        aad: hex(frame.aad),
        ciphertext: hex(frame.ciphertext),
        chain: hex(frame.chain),
      })),
      ...ending,
      ...(script.form === "stream" ? { proof: proof.statement, proof_claims: proof.claims } : {}),
      ...body,
    },
  }
}

const CHUNK = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_767_225_610, model: "model-b" }
const TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
}

const chunk = (delta: object, finishReason: string | null = null) => ({
  ...CHUNK,
  choices: [{ index: 0, delta, finish_reason: finishReason }],
})

const toolDelta = (call: object) => chunk({ tool_calls: [{ index: 0, ...call }] })

const problemOf = (code: string, status: number, title: string, more: object = {}) => ({
  type: `urn:sealgate:problem:${code}`,
  retryable: status === 429 || status >= 500,
  code,
  status,
  title,
  ...more,
})

/** A stream at a pace: tokens that came between two ticks are one chunk, and one tick had none. */
const PACED = {
  completion: { prompt: "Say hello.", stream: true },
  status: "complete",
  payloads: [
    { deltas: [chunk({ role: "assistant", content: "" }), chunk({ content: "Hello, " })] },
    { deltas: [] },
    { deltas: [chunk({ content: "dear reader." }), chunk({}, "stop")] },
  ],
} as const
/** Pieces of a message that came between two ticks are one event. */
const MESSAGE = {
  completion: {
    model: "model-c",
    max_tokens: 64,
    metadata: { user_id: "reader" },
    messages: [{ role: "user", content: "Say hello." }],
    stream: true,
  },
  payloads: [
    {
      deltas: [
        {
          type: "message_start",
          message: {
            id: "msg_1",
            type: "message",
            role: "assistant",
            model: "model-c",
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 3, cache_read_input_tokens: 40, output_tokens: 1 },
          },
        },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello, " } },
      ],
    },
    { deltas: [] },
    {
      deltas: [
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "dear reader." } },
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 5 },
        },
        { type: "message_stop" },
      ],
    },
  ],
} as const

const NOBODY = { provider: null, model: null, finish_reasons: [], usage: null }

const scripts: ReadonlyArray<Script> = [
  {
    name: "complete",
    suite: "MLKEM768-X25519",
    credential: "Bearer vector-credential",
    form: "complete",
    description: "One whole answer, to somebody with a credential.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6a",
    ephemeral: 0x20,
    receivedAt: BEGUN_AT + 1_250,
    completedAt: BEGUN_AT + 3_250,
    completion: { messages: [{ role: "user", content: "Wie geht’s? 👋" }], stream: false },
    status: "complete",
    payloads: [
      {
        id: "chatcmpl-0",
        object: "chat.completion",
        created: 1_767_225_602,
        model: "model-a",
        choices: [{ index: 0, message: { role: "assistant", content: "Gut, danke!" }, finish_reason: "stop" }],
        usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
      },
    ],
    end: {
      provider: "provider1",
      model: "model-a",
      finish_reasons: ["stop"],
      usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
    },
  },
  {
    name: "complete-x25519",
    suite: "X25519",
    form: "complete",
    description: "The same without a credential and in the other suite, from a provider that counts nothing.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b70",
    ephemeral: 0x90,
    receivedAt: BEGUN_AT + 1_250,
    completedAt: BEGUN_AT + 3_250,
    completion: { prompt: "How are you?", stream: false },
    status: "complete",
    payloads: [
      {
        id: "chatcmpl-2",
        object: "chat.completion",
        created: 1_767_225_602,
        model: "model-a",
        choices: [{ index: 0, message: { role: "assistant", content: "Fine, thanks!" }, finish_reason: "stop" }],
      },
    ],
    end: { provider: "provider1", model: "model-a", finish_reasons: ["stop"], usage: null },
  },
  {
    name: "stream",
    suite: "X25519",
    form: "stream",
    description: "An unpaced stream whose first provider breaks off; the second one answers with a tool call.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6b",
    ephemeral: 0x30,
    pace: 0,
    receivedAt: BEGUN_AT + 10_000,
    completedAt: BEGUN_AT + 12_000,
    completion: { prompt: "What is the weather in Lisbon?", tools: [TOOL], stream: true },
    status: "complete",
    payloads: [
      { deltas: [chunk({ role: "assistant", content: "Let me" })] },
      { restart: { reason: "truncated", provider: "provider2", model: "model-b" }, deltas: [] },
      {
        deltas: [
          chunk({ role: "assistant", content: null }),
          toolDelta({ id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } }),
        ],
      },
      { deltas: [toolDelta({ function: { arguments: '{"city":' } })] },
      { deltas: [toolDelta({ function: { arguments: '"Lisbon"}' } }), chunk({}, "tool_calls")] },
    ],
    end: {
      provider: "provider2",
      model: "model-b",
      finish_reasons: ["tool_calls"],
      usage: { prompt_tokens: 58, completion_tokens: 14, total_tokens: 72 },
    },
  },
  {
    name: "paced",
    suite: "MLKEM768-X25519",
    form: "stream",
    description:
      "A stream at the default pace: tokens that came between two ticks are one chunk, and one tick had none.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6d",
    ephemeral: 0x60,
    receivedAt: BEGUN_AT + 30_000,
    completedAt: BEGUN_AT + 30_400,
    ...PACED,
    end: { provider: "provider1", model: "model-b", finish_reasons: ["stop"], usage: null },
  },
  {
    name: "paced-x25519",
    suite: "X25519",
    credential: "Bearer vector-credential",
    form: "stream",
    description: "The same in the other suite, to somebody with a credential who takes no restart.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b71",
    ephemeral: 0xa0,
    restart: false,
    pace: 100,
    receivedAt: BEGUN_AT + 31_000,
    completedAt: BEGUN_AT + 31_400,
    ...PACED,
    end: {
      provider: "provider1",
      model: "model-b",
      finish_reasons: ["stop"],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
    },
  },
  {
    name: "paced-interrupted",
    suite: "X25519",
    form: "stream",
    description: "A paced stream whose provider breaks off, asked for without a restart: it fails with what had come.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b72",
    ephemeral: 0xb0,
    restart: false,
    receivedAt: BEGUN_AT + 33_000,
    completedAt: BEGUN_AT + 33_200,
    completion: { prompt: "Say hello.", stream: true },
    status: "failed",
    payloads: [{ deltas: [chunk({ role: "assistant", content: "Hel" })] }],
    problem: problemOf("upstream-interrupted", 502, "The provider failed in the middle of its answer; ask again."),
    end: { provider: "provider1", model: "model-b", finish_reasons: [], usage: null },
  },
  {
    name: "failed",
    suite: "MLKEM768-X25519",
    form: "complete",
    description: "A request that names a provider which is not configured: outside it looks like an answer.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6c",
    ephemeral: 0x50,
    receivedAt: BEGUN_AT + 20_000,
    completedAt: BEGUN_AT + 20_000,
    completion: { prompt: "Hello" },
    provider: "provider3",
    status: "failed",
    payloads: [null],
    problem: problemOf("provider-not-configured", 422, "The requested provider is not configured here."),
    end: NOBODY,
  },
  {
    name: "unreadable",
    suite: "X25519",
    form: "complete",
    description: "A payload that is no I-JSON: the receipt knows no id.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6e",
    ephemeral: 0x70,
    receivedAt: BEGUN_AT + 40_000,
    completedAt: BEGUN_AT + 40_000,
    completion: {},
    raw: '{"request_id":"018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6e","request_id":""}',
    status: "failed",
    payloads: [null],
    problem: problemOf("invalid-request", 400, "The request is not JSON as it is taken here.", {
      detail: 'An object has two members "request_id".',
    }),
    end: NOBODY,
  },
  {
    name: "paced-messages",
    suite: "MLKEM768-X25519",
    form: "stream",
    description: "A stream of the Messages API at the default pace, with the headers of that API.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b73",
    ephemeral: 0xc0,
    receivedAt: BEGUN_AT + 60_000,
    completedAt: BEGUN_AT + 60_400,
    api: "messages",
    headers: { "anthropic-version": "2023-06-01", "anthropic-beta": "example-2026-01-01" },
    ...MESSAGE,
    status: "complete",
    end: {
      provider: "provider3",
      model: "model-c",
      finish_reasons: ["end_turn"],
      usage: {
        prompt_tokens: 43,
        completion_tokens: 5,
        total_tokens: 48,
        prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 0 },
      },
    },
  },
  {
    name: "responses",
    suite: "X25519",
    form: "complete",
    description: "A whole response of the Responses API, as its provider wrote it.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b74",
    ephemeral: 0xd0,
    receivedAt: BEGUN_AT + 62_000,
    completedAt: BEGUN_AT + 63_000,
    api: "responses",
    completion: { model: "model-a", input: "Say hello.", prompt_cache_key: "reader" },
    status: "complete",
    payloads: [
      {
        id: "resp_1",
        object: "response",
        created_at: 1_767_225_662,
        status: "completed",
        error: null,
        incomplete_details: null,
        model: "model-a",
        output: [
          {
            id: "msg_1",
            type: "message",
            status: "completed",
            role: "assistant",
            content: [{ type: "output_text", text: "Hello, dear reader.", annotations: [] }],
          },
        ],
        usage: {
          input_tokens: 3,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 5,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 8,
        },
      },
    ],
    end: {
      provider: "provider1",
      model: "model-a",
      finish_reasons: ["completed"],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 5,
        total_tokens: 8,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    },
  },
  {
    name: "messages-refused",
    suite: "X25519",
    form: "complete",
    description: "A request that its provider refused, with the words in which it did.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b75",
    ephemeral: 0xe0,
    receivedAt: BEGUN_AT + 64_000,
    completedAt: BEGUN_AT + 65_000,
    api: "messages",
    completion: { model: "model-c", messages: [{ role: "user", content: "Say hello." }] },
    status: "failed",
    payloads: [null],
    problem: problemOf("invalid-request", 400, "The request was refused as invalid.", {
      provider_status: 400,
      detail: "max_tokens: Field required",
      provider_error: { type: "invalid_request_error", message: "max_tokens: Field required" },
    }),
    end: { provider: "provider3", model: "model-c", finish_reasons: [], usage: null },
  },
  {
    name: "aborted",
    suite: "X25519",
    form: "stream",
    description: "A stream that the proxy ended because it shut down.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6f",
    ephemeral: 0x80,
    receivedAt: BEGUN_AT + 50_000,
    completedAt: BEGUN_AT + 50_150,
    completion: { prompt: "Count to a thousand.", stream: true },
    status: "aborted",
    payloads: [{ deltas: [chunk({ content: "One, two, " })] }],
    problem: problemOf("draining", 503, "The proxy is shutting down; send the request again."),
    end: { provider: "provider1", model: "model-b", finish_reasons: [], usage: null },
  },
]

/** Everything that docs/protocol/vectors.json holds. `software` is what receipts state. */
export const makeVectors = async (software: string) => {
  const identity = reference.identityFrom(SEED)
  const signers = { pinned: identity, stranger: identity }
  const sessions = {
    "MLKEM768-X25519": makeSession(signers, "MLKEM768-X25519"),
    X25519: makeSession(signers, "X25519"),
  }
  const exchanges = []
  for (const script of scripts) exchanges.push(await makeExchange(signers, sessions[script.suite], software, script))
  return {
    protocol: "sealgate sealed completions, version 2",
    encoding:
      "Byte strings are lower-case hexadecimal. Values as they stand in JSON on the wire (in claims, bodies and events) are exactly those strings. Payloads are UTF-8 text, spaces at the end included.",
    ...small(),
    identity: {
      seed: hex(SEED),
      public_key: hex(identity.publicKey),
      thumbprint_input: reference.thumbprintInput(identity.publicKey),
      kid: identity.kid,
      jwk: identity.jwk,
    },
    sessions,
    exchanges,
  }
}

export type Vectors = Awaited<ReturnType<typeof makeVectors>>
