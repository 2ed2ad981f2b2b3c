/**
 * A thousand jobs of a key worth a hundred calls, on three gateways with one Postgres, each killed twice midway: exactly the
 * budget is spent, no reservation is left, and the ledger agrees with the budget and with the provider's bill.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { postgresIsThere } from "../support/databases.ts"
import { call } from "../support/gateway.ts"
import { ask, LEFT_FOR_MS, makeKey, reservationsGone, startGateways, sumsIn } from "./budgets/gateways.ts"
import { PRICE } from "./budgets/Provider.ts"
import { until } from "./cluster/looks.ts"
import { GATEWAYS, keyOf } from "./fleet.ts"

const JOBS = 1000
const CALLS = 100
const KILLS = 2 * GATEWAYS
/** Jobs that a gateway works on at once; a kill loses at most as many calls. */
const WORKERS = 7
/** Calls answered between two kills. */
const BETWEEN = 5
/** The longest answer of a call without a limit of its own. */
const WORST = 8192 * PRICE

describe.skipIf(!postgresIsThere)("a key worth a hundred calls, with a thousand jobs and six kills", () => {
  it.live("spends exactly its budget, leaves no reservation, and the ledger agrees with the bill", () =>
    Effect.gen(function* () {
      const { admin, at, database, kill, provider } = yield* startGateways({
        JOB_WORKERS: String(WORKERS),
        JOB_TENANT_PERCENT: "100",
      })
      const { url } = at(0)
      const agent = yield* ask(url, admin, "POST", "/api/v1/agents", { name: "a", default_mode: "verified" })
      const { key, use } = yield* makeKey(url, admin, CALLS * WORST)
      const execute = ask(url, key, "POST", `/api/v1/agents/${String(agent["id"])}/execute`, { task: "Which port?" })
      yield* Effect.all(
        Array.from({ length: JOBS }, () => execute),
        { concurrency: 20 },
      )

      for (let kills = 0; kills < KILLS; kills++) {
        const slot = kills % GATEWAYS
        const before = provider.calls()
        provider.release(BETWEEN)
        // The next calls came, so the answers of the released ones were stored.
        yield* until(() => provider.calls() >= before + BETWEEN && provider.underWay(keyOf(slot)) > 0)
        yield* kill(slot)
      }
      const lastKill = performance.now()
      provider.release(Infinity)

      const gone = Effect.runPromise(reservationsGone(database, lastKill))
      yield* until(async () => {
        const { json } = await Effect.runPromise(call(at(0), "GET", "/api/v1/jobs/summary", { token: admin }))
        return json["queued"] === 0 && json["running"] === 0
      })
      const leftMs = yield* Effect.promise(() => gone)
      assert.isAtMost(leftMs, LEFT_FOR_MS)

      const { charged, estimates, known } = yield* sumsIn(database)
      assert.deepInclude(yield* use(at(0).url), {
        spent_micro_usd: CALLS * WORST,
        reserved_micro_usd: 0,
        left_micro_usd: 0,
      })
      assert.strictEqual(charged, CALLS * WORST, "the ledger and the budget differ")
      assert.isAbove(estimates, 0, "no kill hit a call under way, so nothing was tested")
      // A call that was reserved but not sent when its process died is an estimate without a bill.
      assert.isAtMost(provider.bill(), charged)
      assert.isAtLeast(provider.bill(), known)
      console.info(
        `  ${JOBS} jobs, ${KILLS} kills: ${provider.calls()} calls billed ${provider.bill()} of ${CALLS * WORST} micro-USD, ` +
          `${known} known and ${charged - known} estimated for ${estimates} calls; no reservation ${Math.round(leftMs)} ms after the last kill`,
      )
    }),
  )
})
