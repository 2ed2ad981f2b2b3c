/** Ends waiting answers and streams when the caller's access ends. Key and token were checked only when the request came. */
import { Clock, Duration, Effect, Stream } from "effect"
import { type Identity, TokenRefused } from "../../domain/access/identity.ts"
import { GatewayKeys } from "../../services/access/GatewayKeys.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"

const CHECKED_EVERY = Duration.seconds(1)

/** The members of a key that decide what its holder may see. A change of other members, such as limits, ends nothing. */
const accessOf = ({ key, roles }: Identity): string => JSON.stringify([roles, key?.agents])

/** Returns combinators for answers that wait and for streams. */
export const makeWhileAllowed = Effect.gen(function* () {
  const keys = yield* GatewayKeys
  const drain = yield* Drain

  /** Fails once the caller's token has expired, or its key has expired, was revoked or got other roles or agents. */
  const over = (user: Identity): Effect.Effect<never, TokenRefused> => {
    const { key, tenant, until = Infinity } = user
    if (key === undefined) {
      const left = Effect.map(Clock.currentTimeMillis, (now) => until - now)
      return Effect.andThen(Effect.flatMap(left, Effect.sleep), new TokenRefused())
    }
    const before = accessOf(user)
    return keys.holder(tenant, key.id).pipe(
      Effect.filterOrFail(
        (now) => accessOf(now) === before,
        () => new TokenRefused(),
      ),
      Effect.catchTag("KeyNotFound", () => new TokenRefused()),
      Effect.catchTag("StorageUnavailable", () => Effect.void),
      Effect.delay(CHECKED_EVERY),
      Effect.forever,
    )
  }

  return {
    answer:
      (user: Identity) =>
      <A, E, R>(waiting: Effect.Effect<A, E, R>): Effect.Effect<A, E | TokenRefused, R> =>
        Effect.raceFirst(waiting, over(user)),
    /** Ends the stream, also at a shutdown. A client without access is refused when it connects again. */
    stream: (user: Identity) => Stream.interruptWhen(Effect.raceFirst(drain.begun, Effect.ignore(over(user)))),
  }
})
