/** Served `request_id`s by credential, across sessions: a process serves none twice, even resealed (protocol §6). */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import { momentOf } from "../moments.ts"
import { FairRoom } from "./FairRoom.ts"
import { sha256, sha256Key } from "./sha256.ts"

interface RequestIdSettings {
  readonly sessionTtl: Duration.Duration
  readonly max: number
}

/** Ids are kept this much longer than a session: twice the permitted clock skew. */
const BEYOND_SESSION = Duration.seconds(120)

export class RequestIds extends Context.Service<
  RequestIds,
  {
    readonly hasRoom: (source: string) => Effect.Effect<boolean>
    /** Claims an id, counted for `source` if given. Returns `false` if it was claimed before or there is no room. */
    readonly claim: (credential: Bytes, id: string, source: string | undefined) => Effect.Effect<boolean>
  }
>()("sealgate/services/sealing/RequestIds") {
  static readonly layer = (settings: RequestIdSettings) =>
    Layer.effect(
      RequestIds,
      Effect.sync(() => make(settings)),
    )
}

const make = ({ max, sessionTtl }: RequestIdSettings) => {
  const keptFor = Duration.toMillis(Duration.sum(sessionTtl, BEYOND_SESSION))
  const room = new FairRoom(max)
  /** All ids are kept equally long by a monotonic clock, so the first one is the oldest. */
  const claimed = new Map<string, { readonly until: number; readonly source: string | undefined }>()
  const forget = (now: number): void => {
    for (const [key, { source, until }] of claimed) {
      if (until > now) return
      claimed.delete(key)
      room.giveBack(source)
    }
  }
  return RequestIds.of({
    hasRoom: (source) =>
      Clock.clockWith((clock) => {
        forget(momentOf(clock))
        return Effect.succeed(room.has(source))
      }),
    claim: (credential, id, source) =>
      Clock.clockWith((clock) => {
        const now = momentOf(clock)
        forget(now)
        const key = sha256Key(sha256(credential), utf8(id))
        if (claimed.has(key) || !room.has(source)) return Effect.succeed(false)
        claimed.set(key, { until: now + keptFor, source })
        room.take(source)
        return Effect.succeed(true)
      }),
  })
}
