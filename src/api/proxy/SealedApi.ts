/** The sealed exchange over HTTP (docs/protocol). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { EvidenceUnavailable, NoEvidence } from "../../domain/problems/evidenceProblems.ts"
import { EVIDENCE_FORMATS, EVIDENCE_NONCE_BYTES } from "../../domain/protocol/evidence.ts"
import { MAX_SUITES, SUITES } from "../../domain/protocol/suites.ts"
import { MEDIA_TYPE, SESSION_ID_BYTES } from "../../domain/protocol/transcript.ts"
import { MaxBodyBytes } from "../MaxBodyBytes.ts"
import { NeedsLength } from "../NeedsLength.ts"
import { BODY_PROBLEMS, Draining, Internal, LengthRequired, TimedOut } from "../problems.ts"
import { RequestReplayed, NoCommonSuite, NoSession, RequestUnopenable, Overloaded } from "./openingProblems.ts"
import { described } from "../described.ts"

/** Whether a text is the canonical base64url of `minimum` to `maximum` bytes. */
const isBase64Url =
  (minimum: number, maximum: number) =>
  (text: string): boolean => {
    const length = decodeBase64Url(text)?.length
    return length !== undefined && length >= minimum && length <= maximum
  }

interface Expected {
  readonly is: (text: string) => boolean
  readonly message: string
}

const base64Url = (minimum: number, maximum = minimum): Expected => ({
  is: isBase64Url(minimum, maximum),
  message: `expected unpadded base64url of ${minimum === maximum ? minimum : `${minimum} to ${maximum}`} bytes`,
})

/** Described before the check, because a filter has no JSON Schema that could carry the description. */
const text = ({ is, message }: Expected, description: string) =>
  Schema.String.annotate({ description }).check(Schema.makeFilter(is, { message }))

const Uint16 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))

export const InitRequest = Schema.Struct({
  client_nonce: text(base64Url(16, 64), "Fresh random bytes, base64url; they tie the attestation to this request."),
  suites: Schema.Array(Schema.Struct({ kem: Uint16, kdf: Uint16, aead: Uint16 }))
    .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_SUITES), Schema.isUnique())
    .annotate({ description: "Cipher suites that the client supports (RFC 9180), preferred first." }),
})

/** Many times the size of a nonce and eight suites. */
const MAX_INIT_BYTES = 16 * 1024

const encBytes = SUITES.map((suite) => suite.encBytes)
/** Shortest and longest `enc`, in bytes. */
export const ENC_BYTES = [Math.min(...encBytes), Math.max(...encBytes)] as const

/** The ciphertext may be megabytes, so opening checks its encoding. */
const someBase64Url: Expected = {
  is: (text) => /^[A-Za-z0-9_-]*$/.test(text),
  message: "expected unpadded base64url",
}

export const CompletionRequest = Schema.Struct({
  session_id: text(base64Url(SESSION_ID_BYTES), "The session of the attestation."),
  enc: text(base64Url(...ENC_BYTES), "The encapsulated key, base64url."),
  ciphertext: text(someBase64Url, "The sealed request, base64url."),
})

export const SealedFrames = Schema.Struct({
  response_nonce: Schema.String.annotate({ description: "Both ends derive the response key from it; base64url." }),
  frames: Schema.Tuple([Schema.String, Schema.String]).annotate({
    description: "The data frames, possibly none, and the end record; base64url.",
  }),
}).pipe(HttpApiSchema.asJson({ contentType: MEDIA_TYPE.complete }))

export const SealedStreamEvent = Schema.Struct({
  id: Schema.UndefinedOr(Schema.String),
  event: Schema.Literals(["open", "frame", "proof"]).annotate({
    description: "`open` begins the answer, `frame` carries a piece of it, `proof` is the signed end.",
  }),
  data: Schema.String.annotate({ description: "JSON; docs/protocol has the members of each event." }),
})

export const PublicKeys = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      kty: Schema.Literal("OKP"),
      crv: Schema.Literal("Ed25519"),
      x: Schema.String.annotate({ description: "The public key, base64url." }),
      kid: Schema.String.annotate({ description: "The thumbprint (RFC 7638) that clients pin." }),
      alg: Schema.Literal("Ed25519"),
      use: Schema.Literal("sig"),
    }),
  ).annotate({ description: "The proxy's attestation keys, the current one first." }),
})

export const InitResponse = Schema.Struct({
  attestation: Schema.String.annotate({
    description:
      "A JWS of the proxy's attestation key over the session, its key and its expiry. Verify it before sealing anything.",
  }),
  ...PublicKeys.fields,
})

export const EvidenceRequest = Schema.Struct({
  nonce: text(base64Url(EVIDENCE_NONCE_BYTES), "32 fresh random bytes, base64url; the evidence covers them."),
})

/** Many times the size of a nonce. */
const MAX_EVIDENCE_BYTES = 1024

export const EvidenceResponse = Schema.Struct({
  format: Schema.Literals(EVIDENCE_FORMATS).annotate({ description: "Determines how `report` is verified." }),
  kid: Schema.String.annotate({ description: "Thumbprint of the attestation key that the report covers." }),
  configuration: Schema.String.annotate({
    description: "The proxy's configuration: base64url of I-JSON, whose hash the report covers.",
  }),
  report: Schema.String.annotate({ description: "The quote, report or token of the hardware, base64url." }),
  collateral: Schema.optionalKey(
    Schema.String.annotate({ description: "What the machine hands out to verify the report with, base64url." }),
  ),
  path: Schema.Struct({
    index: Schema.Int.annotate({ description: "Position of your nonce in the tree, from 0." }),
    size: Schema.Int.annotate({ description: "Number of nonces in the tree." }),
    hashes: Schema.Array(Schema.String).annotate({ description: "Siblings from the leaf upwards, base64url." }),
  }).annotate({ description: "Leads from your nonce to the root that the report covers (RFC 6962)." }),
})

export class SealedApi extends HttpApiGroup.make("sealed", { topLevel: true })
  .add(
    HttpApiEndpoint.post("init", "/v1/init", {
      payload: InitRequest,
      success: InitResponse,
      error: [NoCommonSuite, TimedOut, LengthRequired, ...BODY_PROBLEMS, Internal, Draining],
    })
      .annotateMerge(
        described(
          "Begin a session",
          "Returns a fresh key for the first suite that both ends support, in a statement signed by the proxy's attestation key. Verify `attestation` against your pins before sealing anything.",
        ),
      )
      .annotate(MaxBodyBytes, MAX_INIT_BYTES)
      .annotate(NeedsLength, true),
    HttpApiEndpoint.post("completions", "/v1/completions", {
      payload: CompletionRequest,
      success: [SealedFrames, HttpApiSchema.StreamSse({ events: SealedStreamEvent })],
      error: [
        TimedOut,
        LengthRequired,
        RequestUnopenable,
        RequestReplayed,
        NoSession,
        ...BODY_PROBLEMS,
        Internal,
        Draining,
        Overloaded,
      ],
    })
      .annotateMerge(
        described(
          "Send a sealed request",
          "Answers with sealed frames or, if the sealed request asks for it, with a stream of sealed events and a signed terminal proof. Once the request is opened, the status is 200 even for a failure, because only the sender may read the outcome. Behind a load balancer, send the header `sealgate-route` with the first four characters of `session_id`; the proxy itself ignores it.",
        ),
      )
      .annotate(NeedsLength, true),
    HttpApiEndpoint.post("evidence", "/v1/evidence", {
      payload: EvidenceRequest,
      success: EvidenceResponse,
      error: [NoEvidence, EvidenceUnavailable, TimedOut, LengthRequired, ...BODY_PROBLEMS, Internal, Draining],
    })
      .annotateMerge(
        described(
          "Ask for evidence",
          "Returns evidence of the hardware for the code, the configuration and the key of this proxy. At most one report a second is made, and shared by all who wait. A proxy without evidence mode answers `no-evidence`.",
        ),
      )
      .annotate(MaxBodyBytes, MAX_EVIDENCE_BYTES)
      .annotate(NeedsLength, true),
    HttpApiEndpoint.get("keys", "/v1/keys", { success: PublicKeys }).annotateMerge(
      described(
        "Attestation keys",
        "A JWKS for discovery and display. Never trust a key because it is listed here: pin its `kid`.",
      ),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Sealed completions",
      description: "The sealed exchange. A client library does this for you: see docs/reference/clients.md.",
    }),
  ) {}
