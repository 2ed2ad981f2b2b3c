/** The published vectors: fixed inputs, everything else computed by the reference implementation. */
import * as reference from "./reference.ts"
import { b64u, hex, text } from "./reference.ts"

const SEED = Buffer.from(Array.from({ length: 32 }, (_, i) => i))
const SESSION_KEY = Buffer.from(Array.from({ length: 32 }, (_, i) => 0x40 + i))
const SESSION_ID = Buffer.from(Array.from({ length: 16 }, (_, i) => 0xa0 + i))
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

const LABELS = ["request", "request-aad", "transcript", "response", "key", "nonce", "commit", "frame", "chain"]

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

const limits = { max_requests: 256, max_request_bytes: 786_240 }

const makeSession = (identity: reference.Identity) => {
  const publicKey = reference.publicKeyOf("X25519", SESSION_KEY)
  const offer = {
    version: 1,
    session_id: b64u(SESSION_ID),
    public_key: b64u(publicKey),
    suite: { kem: 32, kdf: 1, aead: 2 },
    expires_at: BEGUN_AT / 1000 + 300,
    ...limits,
  }
  const signed = reference.statement(identity, "session", {
    iat: BEGUN_AT / 1000,
    ...offer,
    client_nonce: b64u(CLIENT_NONCE),
  })
  return {
    begun_at_ms: BEGUN_AT,
    client_nonce: hex(CLIENT_NONCE),
    session_id: hex(SESSION_ID),
    private_key: hex(SESSION_KEY),
    public_key: hex(publicKey),
    request_body: { client_nonce: b64u(CLIENT_NONCE) },
    claims: signed.claims,
    signing_input: signed.signingInput,
    attestation: signed.statement,
    attestation_hash: hex(reference.sha256(text(signed.statement))),
    response_body: { ...offer, attestation: signed.statement },
  }
}
type Session = ReturnType<typeof makeSession>

interface Script {
  readonly name: string
  readonly form: reference.ReferenceForm
  readonly description: string
  readonly requestId: string
  readonly ephemeral: number
  readonly receivedAt: number
  readonly completedAt: number
  readonly completion: object
  readonly provider?: string
  /** Data frames, or the problem. */
  readonly payloads: ReadonlyArray<object>
  readonly status: number
  readonly end?: {
    readonly provider: string
    readonly model: string
    readonly finish_reasons: ReadonlyArray<string>
    readonly usage: object
  }
}

/** The end record as the proxy writes it: filled with spaces to a length that does not depend on any count in it. */
const fill = (record: string, widestRecord: string): Buffer =>
  text(record.padEnd(Math.ceil(text(widestRecord).length / 512) * 512))

const widest = <A>(value: A): A =>
  JSON.parse(JSON.stringify(value, (_, member: unknown) => (typeof member === "number" ? "#".repeat(22) : member))) as A // Only its JSON is used, to be measured.

/** What a response that is not a problem has besides its frames. */
interface Ending {
  readonly request_commitment?: string
  readonly response_commitment?: string
  readonly receipt?: string
  readonly receipt_claims?: reference.Claims
  readonly proof?: string
  readonly proof_claims?: reference.Claims
}

/** The answer on the wire: one JSON body, or server-sent events in order. */
interface Body {
  readonly body?: { readonly response_nonce: string; readonly frames: ReadonlyArray<string> }
  readonly event_stream?: ReadonlyArray<{ readonly event: string; readonly data: string }>
}

const makeExchange = async (identity: reference.Identity, session: Session, software: string, script: Script) => {
  const ikm = Buffer.alloc(32, script.ephemeral)
  const payload = text(
    JSON.stringify({
      request_id: script.requestId,
      issued_at: script.receivedAt,
      ...(script.provider === undefined ? {} : { provider: script.provider }),
      completion: script.completion,
    }),
  )
  const info = reference.requestInfo(session.attestation)
  const aad = reference.requestAad(SESSION_ID)
  const padded = reference.block(payload, reference.REQUEST_FLOOR)
  const recipient = reference.fromHex(session.public_key)
  const { ciphertext, enc, secret } = await reference.hpkeSeal(recipient, { info, aad }, padded, ikm)
  const requestHash = reference.requestHash(session.attestation, enc, ciphertext)
  const responseNonce = Buffer.alloc(32, script.ephemeral + 1)
  const keys = reference.responseKeys(secret, enc, responseNonce)
  const exchange = { keys, requestHash, responseNonce }

  const frames: Array<reference.Frame> = []
  const seal = (payload: Buffer, final: boolean) =>
    frames.push(reference.sealFrame(exchange, script.form, frames, payload, final))
  const dataFrames = script.payloads.map((value) => text(JSON.stringify(value)))
  for (const data of dataFrames) seal(data, script.form === "problem")

  const seconds = Math.floor(script.completedAt / 1000)
  let ending: Ending = {}
  if (script.end !== undefined) {
    const { finish_reasons, model, provider, usage } = script.end
    const dataRoot = frames.at(-1)?.chain ?? reference.chainSeed(requestHash, responseNonce)
    const requestCommitment = reference.requestCommitment(keys.commitKey, payload)
    const responseCommitment = reference.responseCommitment(keys.commitKey, dataFrames)
    const receiptOf = (usage: object, count: unknown) =>
      reference.statement(identity, "receipt", {
        iat: seconds,
        jti: script.requestId,
        session_id: b64u(SESSION_ID),
        form: script.form,
        status: "complete",
        provider,
        model,
        finish_reasons,
        usage,
        received_at: Math.floor(script.receivedAt / 1000),
        completed_at: seconds,
        request_hash: b64u(requestHash),
        request_commitment: b64u(requestCommitment),
        root: b64u(dataRoot),
        count,
        response_commitment: b64u(responseCommitment),
        prompt_persisted: false,
        software,
      })
    const recordOf = (usage: object, receipt: string) =>
      JSON.stringify({ status: "complete", finish_reasons, usage, receipt })
    const receipt = receiptOf(usage, frames.length)
    const measured = receiptOf(widest(usage), widest(frames.length))
    seal(fill(recordOf(usage, receipt.statement), recordOf(widest(usage), measured.statement)), true)
    const proof = reference.statement(identity, "proof", {
      iat: seconds,
      session_id: b64u(SESSION_ID),
      request_hash: b64u(requestHash),
      root: b64u(frames.at(-1)?.chain ?? dataRoot),
      count: frames.length,
      status: "complete",
    })
    ending = {
      request_commitment: hex(requestCommitment),
      response_commitment: hex(responseCommitment),
      receipt: receipt.statement,
      receipt_claims: receipt.claims,
      ...(script.form === "stream" ? { proof: proof.statement, proof_claims: proof.claims } : {}),
    }
  }

  const wireFrames = frames.map((frame) => b64u(frame.ciphertext))
  const events = [
    { event: "open", data: { response_nonce: b64u(responseNonce) } },
    ...frames.map(({ ciphertext, final, index }) => ({
      event: "frame",
      data: { seq: index, ...(final ? { final } : {}), ciphertext: b64u(ciphertext) },
    })),
    { event: "proof", data: { proof: ending.proof } },
  ]
  const body: Body =
    script.form === "stream"
      ? { event_stream: events.map(({ data, event }) => ({ event, data: JSON.stringify(data) })) }
      : { body: { response_nonce: b64u(responseNonce), frames: wireFrames } }

  return {
    name: script.name,
    form: script.form,
    description: script.description,
    received_at_ms: script.receivedAt,
    completed_at_ms: script.completedAt,
    request: {
      payload: payload.toString(),
      block: hex(padded),
      info: hex(info),
      aad: hex(aad),
      ephemeral_ikm: hex(ikm),
      ephemeral_private_key: hex(await reference.ephemeralPrivateKey(ikm)),
      enc: hex(enc),
      ciphertext: hex(ciphertext),
      exported_secret: hex(secret),
      request_hash: hex(requestHash),
      body: { session_id: b64u(SESSION_ID), enc: b64u(enc), ciphertext: b64u(ciphertext) },
    },
    response: {
      response_nonce: hex(responseNonce),
      prk: hex(keys.prk),
      key: hex(keys.key),
      base_nonce: hex(keys.baseNonce),
      commit_key: hex(keys.commitKey),
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
      status: script.status,
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
  delta: { ...CHUNK, choices: [{ index: 0, delta, finish_reason: finishReason }] },
})

const toolDelta = (call: object) => chunk({ tool_calls: [{ index: 0, ...call }] })

const scripts: ReadonlyArray<Script> = [
  {
    name: "complete",
    form: "complete",
    description: "One whole answer.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6a",
    ephemeral: 0x20,
    receivedAt: BEGUN_AT + 1_250,
    completedAt: BEGUN_AT + 3_250,
    completion: { messages: [{ role: "user", content: "Wie geht’s? 👋" }], stream: false },
    status: 200,
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
    name: "stream",
    form: "stream",
    description: "A stream whose first provider breaks off; the second one answers with a tool call.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6b",
    ephemeral: 0x30,
    receivedAt: BEGUN_AT + 10_000,
    completedAt: BEGUN_AT + 12_000,
    completion: { prompt: "What is the weather in Lisbon?", tools: [TOOL], stream: true },
    status: 200,
    payloads: [
      chunk({ role: "assistant", content: "Let me" }),
      { restart: { reason: "truncated", provider: "provider2", model: "model-b" } },
      chunk({ role: "assistant", content: null }),
      toolDelta({ id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } }),
      toolDelta({ function: { arguments: '{"city":' } }),
      toolDelta({ function: { arguments: '"Lisbon"}' } }),
      chunk({}, "tool_calls"),
    ],
    end: {
      provider: "provider2",
      model: "model-b",
      finish_reasons: ["tool_calls"],
      usage: { prompt_tokens: 58, completion_tokens: 14, total_tokens: 72 },
    },
  },
  {
    name: "problem",
    form: "problem",
    description: "A request that names a provider which is not configured: refused after it was opened.",
    requestId: "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6c",
    ephemeral: 0x50,
    receivedAt: BEGUN_AT + 20_000,
    completedAt: BEGUN_AT + 20_000,
    completion: { prompt: "Hello" },
    provider: "provider3",
    status: 422,
    payloads: [
      {
        type: "urn:sealgate:problem:provider-not-configured",
        retryable: false,
        code: "provider-not-configured",
        status: 422,
        title: "The requested provider is not configured here.",
      },
    ],
  },
]

/** Everything that docs/protocol/vectors.json holds. `software` is what receipts state. */
export const makeVectors = async (software: string) => {
  const identity = reference.identityFrom(SEED)
  const session = makeSession(identity)
  const exchanges = []
  for (const script of scripts) exchanges.push(await makeExchange(identity, session, software, script))
  return {
    protocol: "sealgate sealed completions, version 1",
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
    session,
    exchanges,
  }
}

export type Vectors = Awaited<ReturnType<typeof makeVectors>>
