/** Rules that our server keeps, each broken. */
import type { Weakness } from "./weakened.ts"

const NEVER = "false"

export const SERVER_WEAKNESSES: ReadonlyArray<Weakness> = [
  {
    name: "end records of their own size",
    must: "P40",
    file: "services/sealing/EndRecord.ts",
    from: "new Uint8Array(endRecordLength(json.length))",
    to: "new Uint8Array(json.length + 1)",
  },
  {
    name: "replays",
    must: "P17",
    file: "services/sealing/SessionTable.ts",
    from: "session.claimed.has(request)",
    to: NEVER,
  },
  {
    name: "session ids from a clock",
    must: "P10",
    file: "services/sealing/Sessions.ts",
    from: "randomBytes(SESSION_ID_BYTES)",
    to: 'new Uint8Array(Buffer.from(String(process.hrtime.bigint()).padStart(SESSION_ID_BYTES, "0").slice(-SESSION_ID_BYTES)))',
  },
  {
    name: "ids claimed for everybody",
    must: "P21",
    file: "services/sealing/RequestIds.ts",
    from: "sha256Key(sha256(credential), utf8(id))",
    to: "sha256Key(sha256(new Uint8Array()), utf8(id))",
  },
  {
    name: "sessions before sizes",
    must: "P16",
    file: "services/sealing/RequestOpener.ts",
    from: "ciphertext.length > maxRequestBytes",
    to: "(yield* sessions.find(envelope.session_id, claimKey(enc)), ciphertext.length > maxRequestBytes)",
  },
  {
    name: "63 levels",
    must: "P4",
    file: "domain/json/iJson.ts",
    from: "{ depth: 64, values: 32_768 }",
    to: "{ depth: 63, values: 32_768 }",
  },
  {
    name: "failures without a trace",
    must: "P39",
    file: "services/sealing/EndRecord.ts",
    from: "{ ...problem, ...withoutUndefined({ trace_id: requestTraceId(span) }) }",
    to: "problem",
  },
  {
    name: "every name",
    must: "P16",
    file: "http/shared/Hosts.ts",
    from: "rules.anyName || isLoopback(name)",
    to: "true",
  },
  {
    name: "every origin",
    must: "P16",
    file: "http/shared/Origins.ts",
    from: "isOwn(request) || isNavigation(request) || isAllowed(request, allowed)",
    to: "true",
  },
  {
    name: "a reversed kid among the keys",
    must: "P6",
    file: "http/proxy/SealedHandlers.ts",
    from: "[attestation.jwk]",
    to: '[{ ...attestation.jwk, kid: [...attestation.jwk.kid].reverse().join("") }]',
  },
  { name: "ids twice", must: "P21", file: "services/sealing/RequestIds.ts", from: "claimed.has(key)", to: NEVER },
  {
    name: "times that run backwards",
    must: "P43",
    file: "services/sealing/EndRecord.ts",
    from: "Math.floor(opened.receivedAt / 1000)",
    to: "Math.floor(opened.receivedAt / 1000) + 3600",
  },
  {
    name: "statements without a version",
    must: "P10",
    file: "services/sealing/Attestation.ts",
    from: "{ iss: kid, version: VERSION, ...claims }",
    to: "{ iss: kid, ...claims }",
  },
  {
    name: "the hash of another body",
    must: "P10",
    file: "http/proxy/SealedHandlers.ts",
    from: "encodeBase64Url(sha256(utf8(text)))",
    to: "encodeBase64Url(sha256(utf8(text.trim())))",
  },
  {
    name: "the last suite",
    must: "P8",
    file: "http/proxy/SealedHandlers.ts",
    from: "suites.map(suiteWith).find((suite) => suite !== undefined)",
    to: "suites.map(suiteWith).findLast((suite) => suite !== undefined)",
  },
  {
    name: "old requests",
    must: "P23",
    file: "services/sealing/readRequest.ts",
    from: "Math.abs((yield* Clock.currentTimeMillis) - issued_at) > MAX_SKEW_MS",
    to: NEVER,
  },
  {
    name: "frames before their tick",
    must: "P34",
    file: "services/sealing/sealStream.ts",
    from: "begunAt + ticks * pace",
    to: "begunAt + (ticks - 1) * pace",
  },
  {
    name: "chunks as they come",
    must: "P36",
    file: "services/sealing/Backlog.ts",
    from: "this.rules.added(first.chunk, other.chunk)",
    to: "undefined",
  },
  { name: "weak keys", must: "P5", file: "services/sealing/Hpke.ts", from: "!isSoundEnc(enc)", to: NEVER },
  {
    name: "members twice",
    must: "P2",
    file: "domain/json/iJson.ts",
    from: "seen[depth]?.get(name) === open[depth]",
    to: NEVER,
  },
  { name: "padding of any bytes", must: "P15", file: "domain/protocol/padding.ts", from: "padding === 0", to: "true" },
  {
    name: "streams for whoever says something like it",
    must: "P30",
    file: "services/sealing/readRequest.ts",
    from: 'body["stream"] === true',
    to: 'Boolean(body["stream"])',
  },
  {
    name: "a header that tells of a failure",
    must: "P31",
    file: "http/proxy/streamResponse.ts",
    from: '{ ...SEALED, "x-accel-buffering": "no" }',
    to: '{ ...SEALED, "x-accel-buffering": "no", "retry-after": "1" }',
  },
  {
    name: "offers that may be stored",
    must: "P9",
    file: "http/proxy/SealedHandlers.ts",
    from: "HttpServerResponse.jsonUnsafe({ attestation: statement, ...keys }, { headers: NO_STORE })",
    to: "HttpServerResponse.jsonUnsafe({ attestation: statement, ...keys })",
  },
  {
    name: "a proof that says how it ended",
    must: "P41",
    file: "services/sealing/EndRecord.ts",
    from: "opened.sealer.summary()",
    to: '{ ...opened.sealer.summary(), status: "complete" }',
  },
  {
    name: "every other tick",
    must: "P34",
    file: "services/sealing/sealStream.ts",
    from: "ticks * pace",
    to: "2 * ticks * pace",
  },
  {
    name: "an omitted tick in a long answer",
    must: "P34",
    file: "services/sealing/sealStream.ts",
    from: "ticks += 1",
    to: "ticks += ticks === 3 ? 2 : 1",
  },
  {
    name: "long chunks in one frame",
    must: "P35",
    file: "services/sealing/Backlog.ts",
    from: "whole.bytes <= PIECE",
    to: "true",
  },
  {
    name: "ids claimed by what is stale",
    must: "P18",
    file: "services/sealing/readRequest.ts",
    from: "(yield* Clock.currentTimeMillis)",
    to: "((issued_at === 1 ? yield* admission.requestIds.claim(content.credential, request_id) : 0), yield* Clock.currentTimeMillis)",
  },
]

/** Allowed behaviour that differs from ours. */
export const SERVER_VARIANTS: ReadonlyArray<Weakness> = [
  {
    name: "Chat Completions alone",
    must: "P27",
    file: "services/sealing/readRequest.ts",
    from: "!isApiName(api)",
    to: '!isApiName(api) || api !== "chat.completions"',
  },
  {
    name: "openings that are held up",
    must: "P26",
    file: "http/proxy/streamResponse.ts",
    from: "new Readable({ highWaterMark: 1, read })",
    to: `(() => {
      const held = new Readable({ highWaterMark: 1, read })
      const push = held.push.bind(held)
      let before = Promise.resolve()
      held.push = (text, encoding) => {
        const wait = String(text).startsWith("event: open") ? 80 : 0
        before = before.then(() => new Promise((go) => setTimeout(go, wait))).then(() => void push(text, encoding))
        return true
      }
      return held
    })()`,
  },
]

const SEALER = "services/sealing/ResponseSealer.ts"
const OPENER = "services/sealing/RequestOpener.ts"

/** Mistakes in keys, transcript and associated data. */
export const KEY_MISTAKES: ReadonlyArray<Weakness & { readonly says: string }> = [
  {
    name: "another order in the salt",
    must: "P33",
    file: SEALER,
    from: "responseSalt(input.enc, input.responseNonce)",
    to: "responseSalt(input.responseNonce, input.enc)",
    says: "the salt is response_nonce ‖ enc, and must be enc ‖ response_nonce",
  },
  {
    name: "labels without an end",
    must: "P33",
    file: SEALER,
    from: "hmacSha256(into, extracted, info, FIRST_BLOCK)",
    to: "hmacSha256(into, extracted, info.subarray(0, -1), FIRST_BLOCK)",
    says: "the labels of the keys have no byte 00 at their end",
  },
  {
    name: "one label for key and nonce",
    must: "P33",
    file: "domain/protocol/transcript.ts",
    from: "LABELS.nonce",
    to: "LABELS.key",
    says: "base_nonce has the label of key",
  },
  {
    name: "the ciphertext itself in the transcript",
    must: "P33",
    file: OPENER,
    from: "requestTranscript(session.attestationHash, enc, sha256(ciphertext))",
    to: "requestTranscript(session.attestationHash, enc, ciphertext)",
    says: "request_hash has the ciphertext, and must have its hash",
  },
  {
    name: "associated data of the other finality",
    must: "P33",
    file: SEALER,
    from: "frameAad(form, index, final, this.requestHash)",
    to: "frameAad(form, index, !final, this.requestHash)",
    says: "the associated data has the other finality",
  },
  {
    name: "nonces without the base",
    must: "P33",
    file: SEALER,
    from: "frameNonce(this.baseNonce, index)",
    to: "frameNonce(new Uint8Array(this.baseNonce.length), index)",
    says: "the nonce is the number of the frame alone",
  },
  {
    name: "info without the statement",
    must: "P33",
    file: OPENER,
    from: "requestInfo(session.attestationHash)",
    to: "requestInfo(new Uint8Array())",
    says: "the server finds a request unopenable: compare info, aad, key and block",
  },
]
