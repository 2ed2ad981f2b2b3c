/** Evidence and keys of dstack's guest agent (dstack `sdk/curl/api.md`). */
import { Effect, Layer, Schema } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import { reportData } from "../../domain/protocol/evidence.ts"
import { contains, EvidencePlaces, EvidenceSource, withPatience, SourceFailed } from "./EvidenceSource.ts"
import { socketCall } from "./socketPost.ts"

const Hex = Schema.String.check(Schema.isPattern(/^([0-9a-f]{2})+$/i))
const Quote = Schema.Struct({ quote: Hex, event_log: Schema.String })
const Info = Schema.Struct({ tcb_info: Schema.String })
const TcbInfo = Schema.Struct({ app_compose: Schema.String })
const Key = Schema.Struct({ key: Hex })

const SEED_BYTES = 32

/** Path of the proxy's identity in dstack's key derivation. Another path is another identity. */
const IDENTITY_PATH = "sealgate/attestation/1"

const decodeTcbInfo = Schema.decodeUnknownEffect(Schema.fromJsonString(TcbInfo))

export const layerDstack = Layer.effect(
  EvidenceSource,
  Effect.gen(function* () {
    const { dstackSocket } = yield* EvidencePlaces
    return EvidenceSource.of({
      report: Effect.fnUntraced(function* (binding) {
        const asked = { report_data: Buffer.from(reportData(binding)).toString("hex") }
        const { event_log, quote } = yield* socketCall(dstackSocket, "/GetQuote", asked, Quote)
        const report = Buffer.from(quote, "hex")
        if (!contains("dstack", report, binding)) {
          return yield* new SourceFailed({ problem: `${dstackSocket}: the quote is for other data than was asked` })
        }
        const { tcb_info } = yield* socketCall(dstackSocket, "/Info", {}, Info)
        const { app_compose } = yield* Effect.mapError(
          decodeTcbInfo(tcb_info),
          () => new SourceFailed({ problem: `${dstackSocket}: /Info names no app_compose` }),
        )
        return { format: "dstack" as const, report, collateral: utf8(JSON.stringify({ event_log, app_compose })) }
      }),
    })
  }),
)

/** The seed of the proxy's identity, which dstack's key service derives: the same after each restart of this app. */
export const dstackSeed: Effect.Effect<Bytes, SourceFailed> = Effect.gen(function* () {
  const { dstackSocket } = yield* EvidencePlaces
  const { key } = yield* socketCall(dstackSocket, "/GetKey", { path: IDENTITY_PATH, purpose: "attestation" }, Key)
  const decoded = Buffer.from(key, "hex")
  const seed = Uint8Array.from(decoded)
  decoded.fill(0)
  if (seed.length === SEED_BYTES) return seed
  return yield* new SourceFailed({ problem: `${dstackSocket}: the derived key has ${seed.length} bytes instead of 32` })
}).pipe(withPatience(`key of ${IDENTITY_PATH}`))
