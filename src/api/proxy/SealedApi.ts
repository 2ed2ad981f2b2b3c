/** The sealed exchange over HTTP (docs/protocol). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { MAX_SUITES, SUITES } from "../../domain/protocol/suites.ts"
import { MEDIA_TYPE, SESSION_ID_BYTES } from "../../domain/protocol/transcript.ts"
import { MaxBodyBytes } from "../MaxBodyBytes.ts"
import { NeedsLength } from "../NeedsLength.ts"
import { BODY_PROBLEMS, Draining, Internal, LengthRequired, Refusals, TimedOut } from "../problems.ts"
import { CameBefore, NoCommonSuite, NoSession, NotOpened, Overloaded } from "./openingProblems.ts"

/** Whether a text is the canonical base64url of a number of bytes within the given bounds. */
const isBase64Url =
  (minimum: number, maximum: number) =>
  (text: string): boolean => {
    const length = decodeBase64Url(text)?.length
    return length !== undefined && length >= minimum && length <= maximum
  }

/** A text of which something is expected. */
interface Expected {
  readonly is: (text: string) => boolean
  /** What it is told that is something else. */
  readonly message: string
}

const base64Url = (minimum: number, maximum = minimum): Expected => ({
  is: isBase64Url(minimum, maximum),
  message: `expected unpadded base64url of ${minimum === maximum ? minimum : `${minimum} to ${maximum}`} bytes`,
})

const text = ({ is, message }: Expected) => Schema.String.check(Schema.makeFilter(is, { message }))

const Uint16 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))

export const InitRequest = Schema.Struct({
  client_nonce: text(base64Url(16, 64)),
  /** The preferred suite comes first. */
  suites: Schema.Array(Schema.Struct({ kem: Uint16, kdf: Uint16, aead: Uint16 })).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(MAX_SUITES),
    Schema.isUnique(),
  ),
})

/** Many times what a nonce and eight suites take, in whatever spacing. */
const MAX_INIT_BYTES = 16 * 1024

const encBytes = SUITES.map((suite) => suite.encBytes)
/** The lengths, in bytes, that an `enc` has at least and at most. */
export const ENC_BYTES = [Math.min(...encBytes), Math.max(...encBytes)] as const

/**
 * What the members of a sealed request are. The encoding of the ciphertext is checked only where it is decoded, because it
 * may be megabytes.
 */
export const COMPLETION_MEMBERS = {
  session_id: base64Url(SESSION_ID_BYTES),
  enc: base64Url(...ENC_BYTES),
  ciphertext: { is: (text: string) => /^[A-Za-z0-9_-]*$/.test(text), message: "expected unpadded base64url" },
} satisfies Readonly<Record<string, Expected>>

export const CompletionRequest = Schema.Struct({
  session_id: text(COMPLETION_MEMBERS.session_id),
  enc: text(COMPLETION_MEMBERS.enc),
  ciphertext: text(COMPLETION_MEMBERS.ciphertext),
})

/** The frames of the answer, which may be none, and the end record. */
export const SealedFrames = Schema.Struct({
  response_nonce: Schema.String,
  frames: Schema.Tuple([Schema.String, Schema.String]),
}).pipe(HttpApiSchema.asJson({ contentType: MEDIA_TYPE.complete }))

/** Events of a sealed stream; `data` is JSON as the protocol describes it per event. */
export const SealedStreamEvent = Schema.Struct({
  id: Schema.UndefinedOr(Schema.String),
  event: Schema.Literals(["open", "frame", "proof"]),
  data: Schema.String,
})

export const PublicKeys = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      kty: Schema.Literal("OKP"),
      crv: Schema.Literal("Ed25519"),
      x: Schema.String,
      kid: Schema.String,
      alg: Schema.Literal("Ed25519"),
      use: Schema.Literal("sig"),
    }),
  ),
})

export const InitResponse = Schema.Struct({ attestation: Schema.String, ...PublicKeys.fields })

export class SealedApi extends HttpApiGroup.make("sealed", { topLevel: true })
  .add(
    HttpApiEndpoint.post("init", "/v1/init", {
      payload: InitRequest,
      success: InitResponse,
      error: [NoCommonSuite, TimedOut, LengthRequired, ...BODY_PROBLEMS, Internal, Draining],
    })
      .annotateMerge(
        OpenApi.annotations({
          summary: "Begin a session",
          description:
            "Offers a fresh key of the first suite that both ends have, in a statement of the proxy's attestation key, and that key. Verify `attestation` against your pins before sealing anything.",
        }),
      )
      .annotate(MaxBodyBytes, MAX_INIT_BYTES)
      .annotate(NeedsLength, true),
    HttpApiEndpoint.post("completions", "/v1/completions", {
      payload: CompletionRequest,
      success: [SealedFrames, HttpApiSchema.StreamSse({ events: SealedStreamEvent })],
      error: [
        TimedOut,
        LengthRequired,
        NotOpened,
        CameBefore,
        NoSession,
        ...BODY_PROBLEMS,
        Internal,
        Draining,
        Overloaded,
      ],
    })
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send a sealed request",
          description:
            "Answers with sealed frames or, if the sealed request asks for it, with a stream of sealed events and a signed terminal proof. What becomes of a request that was opened is for its sender alone to read: the status is 200, also of a failure. Behind a balancer, send the header `sealgate-route` with the first four characters of `session_id`; the proxy itself does not read it.",
        }),
      )
      .annotate(NeedsLength, true),
    HttpApiEndpoint.get("keys", "/v1/keys", { success: PublicKeys }).annotateMerge(
      OpenApi.annotations({
        summary: "Attestation keys",
        description: "A JWKS for discovery and display. Never trust a key because it is listed here: pin its `kid`.",
      }),
    ),
  )
  .middleware(Refusals)
  .annotateMerge(
    OpenApi.annotations({
      title: "Sealed completions",
      description: "The sealed exchange. A client library does this for you: see docs/clients.md.",
    }),
  ) {}
