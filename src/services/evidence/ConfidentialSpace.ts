/** Evidence of Google's Confidential Space: a token of its launcher, with custom audience and nonce. */
import { Effect, Layer, Schema } from "effect"
import { decodeBase64Url, encodeBase64Url, fromUtf8, utf8 } from "../../domain/bytes/bytes.ts"
import { EvidencePlaces, EvidenceSource, SourceFailed } from "./EvidenceSource.ts"
import { socketPost } from "./socketPost.ts"

/** Audience of the token, so that tokens for other services are not accepted in its place. */
const TOKEN_AUDIENCE = "https://sealgate/evidence"

/** `eat_nonce` is a text if one nonce was asked for. */
const Claims = Schema.Struct({ eat_nonce: Schema.Union([Schema.String, Schema.Tuple([Schema.String])]) })
const decodeClaims = Schema.decodeUnknownEffect(Schema.fromJsonString(Claims))

const nonceIn = Effect.fnUntraced(function* (token: string) {
  const payload = decodeBase64Url(token.split(".")[1] ?? "")
  if (payload === undefined) return undefined
  const claims = yield* Effect.option(
    Effect.flatMap(
      Effect.try(() => fromUtf8(payload)),
      decodeClaims,
    ),
  )
  return claims._tag === "None" ? undefined : [claims.value.eat_nonce].flat()[0]
})

export const layerConfidentialSpace = Layer.effect(
  EvidenceSource,
  Effect.gen(function* () {
    const { confidentialSpaceSocket } = yield* EvidencePlaces
    return EvidenceSource.of({
      report: Effect.fnUntraced(function* (binding) {
        const nonce = encodeBase64Url(binding)
        const asked = { audience: TOKEN_AUDIENCE, token_type: "PKI", nonces: [nonce] }
        const token = (yield* socketPost(confidentialSpaceSocket, "/v1/token", asked)).trim()
        if ((yield* nonceIn(token)) !== nonce) {
          const problem = `${confidentialSpaceSocket}: the token is for another nonce than was asked`
          return yield* new SourceFailed({ problem })
        }
        return { format: "confidential-space" as const, report: utf8(token) }
      }),
    })
  }),
)
