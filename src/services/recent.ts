/** Values in the database that every call needs. Each process reads them at most once a second. */
import { Cache, Duration, Effect, Exit } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { StorageUnavailable } from "../domain/operations/storage.ts"
import { makeBatched } from "./batched.ts"
import { thisMoment } from "./moments.ts"
import { unavailableUnlimited } from "./storedRows.ts"

/** How long calls may use an outdated value. */
const KNOWN_FOR_MS = 1000
const MAX_KNOWN = 1000

/** Caches a value per key for a second. Concurrent reads share a query; `find` keeps the order of the keys. */
export const makeRecent = <A>(
  find: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError | StorageUnavailable>,
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const batched = yield* makeBatched<string, A>({ run: find })
    const now = (key: string) => unavailableUnlimited(batched(key))
    // Expires by the monotonic clock. The cache's own time to live follows the time of day, and setting that back would
    // keep a revoked key valid.
    const cache = yield* Cache.makeWith(
      (key: string) => Effect.flatMap(now(key), (value) => Effect.map(thisMoment, (at) => ({ value, at }))),
      { capacity: MAX_KNOWN, timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.infinity : Duration.zero) },
    )
    const recent = Effect.fnUntraced(function* (key: string) {
      const known = yield* Cache.get(cache, key)
      if ((yield* thisMoment) - known.at < KNOWN_FOR_MS) return known.value
      yield* Cache.invalidate(cache, key)
      return (yield* Cache.get(cache, key)).value
    })
    return {
      now,
      /** Up to a second old. Not in a transaction: concurrent reads share one, which may wait for the transaction. */
      recent,
      /** Makes this process read the value again, once the transaction commits. */
      forget: (key: string) => sql.afterCommit(Cache.invalidate(cache, key)),
    }
  })
