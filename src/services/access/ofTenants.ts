/** Rows of tenants that every call needs. */
import { Cache, Duration, Effect, Exit } from "effect"
import type { SqlError } from "effect/sql"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { makeBatched } from "../batched.ts"
import { unavailableUnlimited } from "../storedRows.ts"

/** How long calls may use what was changed. */
const KNOWN_FOR = Duration.seconds(1)
const MAX_KNOWN = 1000

/** Returns reads of each tenant's value, which `find` returns in the order of `tenants`. Concurrent reads share a query. */
export const makeOfTenants = <A>(
  find: (tenants: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError | StorageUnavailable>,
) =>
  Effect.gen(function* () {
    const batched = yield* makeBatched<string, A>({ run: find })
    const now = (tenant: string) => unavailableUnlimited(batched(tenant))
    const cache = yield* Cache.makeWith(now, {
      capacity: MAX_KNOWN,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? KNOWN_FOR : Duration.zero),
    })
    return {
      now,
      /** Up to a second old. */
      recent: (tenant: string) => Cache.get(cache, tenant),
      /** Makes this process read the value again. */
      forget: (tenant: string) => Cache.invalidate(cache, tenant),
    }
  })
