/**
 * The `request_id`s that were served, of each credential and over all sessions (sealed protocol §6): a client that seals a
 * request anew has it served once by this process.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes.ts"
import { sha256, sha256Key } from "./sha256.ts"

interface RequestIdSettings {
  /** How long sessions last. */
  readonly sessionTtl: Duration.Duration
  readonly max: number
}

/** How much longer than a session an id is remembered: twice what clocks may differ by. */
const BEYOND_SESSION = Duration.seconds(120)

export class RequestIds extends Context.Service<
  RequestIds,
  {
    /** Whether another one can be remembered. */
    readonly hasRoom: Effect.Effect<boolean>
    /** Takes the right to serve a request under this id: `false` if it was taken before, or could not be remembered. */
    readonly claim: (credential: Bytes, id: string) => Effect.Effect<boolean>
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
  /** When each may be forgotten: all are kept equally long, so the first is the oldest. */
  const claimed = new Map<string, number>()
  const forget = (now: number): void => {
    for (const [key, until] of claimed) {
      if (until > now) return
      claimed.delete(key)
    }
  }
  return RequestIds.of({
    hasRoom: Clock.clockWith((clock) => {
      forget(clock.currentTimeMillisUnsafe())
      return Effect.succeed(claimed.size < max)
    }),
    claim: (credential, id) =>
      Clock.clockWith((clock) => {
        const now = clock.currentTimeMillisUnsafe()
        forget(now)
        const key = sha256Key(sha256(credential), utf8(id))
        if (claimed.has(key) || claimed.size >= max) return Effect.succeed(false)
        claimed.set(key, now + keptFor)
        return Effect.succeed(true)
      }),
  })
}
