/** Removes the use of budgets in past periods. Rows with a reservation stay until it ends. */
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { regularly } from "../background.ts"
import { earlierTime } from "../databaseTime.ts"
import { inBatches } from "../inBatches.ts"
import { skipLocked, unavailableUnlimited } from "../storedRows.ts"

/** The least and most rows per transaction. */
const BATCH = { least: 25, most: 500 }
const EVERY = Duration.hours(1)
/** Age of a period's start at which every period is over: the longest has 31 days. */
const OVER_AFTER = Duration.days(32)

const prune = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const before = (yield* earlierTime(sql)) - Duration.toMillis(OVER_AFTER)
  // `total` budgets, whose `since` is 0, are never over.
  const remove = (size: number) => sql`DELETE FROM budget_use WHERE (owner, per, since) IN (
    SELECT owner, per, since FROM budget_use
    WHERE since > 0 AND since <= ${before} AND reserved_cost = 0 AND reserved_tokens = 0
    LIMIT ${size} ${skipLocked(sql, "UPDATE")}) RETURNING owner`
  yield* inBatches(BATCH, (size) => Effect.map(remove(size), ({ length }) => length))
}).pipe(unavailableUnlimited, Effect.withSpan("BudgetRetention.prune"))

/** Prunes at start and then every hour, until its scope closes. */
export const layerBudgetRetention = Layer.effectDiscard(Effect.forkScoped(regularly(prune, EVERY)))
