/**
 * A thousand chat completions of a key worth a hundred, on three gateways with one Postgres, each killed twice while some
 * are under way: exactly the affordable calls are made, no reservation is left, and budget, ledger and the provider's bill
 * agree to the micro-USD.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { postgresIsThere } from "../support/databases.ts"
import { call } from "../support/gateway.ts"
import { LEFT_FOR_MS, makeKey, MODEL, reservationsGone, startGateways, sumsIn } from "./budgets/gateways.ts"
import { PRICE } from "./budgets/Provider.ts"
import { until } from "./cluster/looks.ts"
import { GATEWAYS } from "./fleet.ts"

const CALLS = 1000
const AFFORDABLE = 100
const KILLS = 2 * GATEWAYS
/** Calls that arrive at each gateway before a kill, and how many are answered then: some of the killed one are left. */
const ARRIVE = 5
const BURST = ARRIVE * GATEWAYS
const ANSWERED = ARRIVE - 1
const TOKENS = 1000
const WORST = TOKENS * PRICE

/** `LOST`: the gateway died before it answered. */
type Outcome = number
const LOST: Outcome = 0

describe.skipIf(!postgresIsThere)("a key worth a hundred calls, with a thousand concurrent ones and six kills", () => {
  it.live("makes exactly the affordable calls, and budget, ledger and bill agree", () =>
    Effect.gen(function* () {
      const { admin, at, database, kill, provider } = yield* startGateways({
        MAX_CONNECTIONS_PER_CLIENT: "10000",
        UPSTREAM_CONCURRENCY: "1000",
        MAX_CALLS_PER_TENANT: "0",
      })
      const { key, use } = yield* makeKey(at(0).url, admin, AFFORDABLE * WORST)

      /** Starts calls on all gateways, every other one streamed. */
      const arrive = (count: number) =>
        Effect.forEach(Array.from({ length: count }).keys(), (i) => {
          const messages = [{ role: "user", content: "Which port?" }]
          const body = { model: MODEL, messages, max_tokens: TOKENS, stream: i % 2 === 0 }
          const answered = call(at(i), "POST", "/v1/chat/completions", { token: key, body })
          return Effect.forkChild(
            Effect.catchDefect(
              Effect.map(answered, ({ status }): Outcome => status),
              () => Effect.succeed(LOST),
            ),
          )
        })

      const asked: Array<Fiber.Fiber<Outcome>> = []
      for (let kills = 0; kills < KILLS; kills++) {
        asked.push(...(yield* arrive(BURST)))
        yield* until(() => provider.calls() === (kills + 1) * BURST)
        provider.release(ANSWERED)
        yield* kill(kills % GATEWAYS)
      }
      const lastKill = performance.now()
      asked.push(...(yield* arrive(CALLS - KILLS * BURST)))
      yield* until(() => provider.calls() >= AFFORDABLE)
      provider.release(Infinity)
      const outcomes = Map.groupBy(yield* Effect.forEach(asked, Fiber.join), (outcome) => outcome)
      const leftMs = yield* reservationsGone(database, lastKill)
      assert.isAtMost(leftMs, LEFT_FOR_MS)

      const countOf = (outcome: Outcome) => outcomes.get(outcome)?.length ?? 0
      assert.strictEqual(provider.calls(), AFFORDABLE)
      assert.isAbove(countOf(LOST), 0, "no kill hit a call under way, so nothing was tested")
      // 429 while reservations are in the way, 402 once all is spent.
      const refused = countOf(402) + countOf(429)
      assert.strictEqual(refused, CALLS - AFFORDABLE)
      assert.strictEqual(countOf(200) + countOf(LOST), AFFORDABLE)
      const { charged, estimates } = yield* sumsIn(database)
      assert.isAbove(estimates, 0)
      assert.strictEqual(charged, provider.bill())
      assert.deepInclude(yield* use(at(0).url), { spent_micro_usd: provider.bill(), reserved_micro_usd: 0 })
      assert.strictEqual(provider.bill(), AFFORDABLE * WORST)
      console.info(
        `  ${CALLS} calls, ${KILLS} kills: ${countOf(200)} answered, ${countOf(LOST)} lost (${estimates} charged as estimates), ` +
          `${refused} refused; ${charged} micro-USD charged and billed; no reservation ${Math.round(leftMs)} ms after the last kill`,
      )
    }),
  )
})
