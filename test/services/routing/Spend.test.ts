import { assert, it, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import { SpendReport } from "../../../src/domain/routing/spend.ts"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { Spend } from "../../../src/services/routing/Spend.ts"
import { moveSpend } from "../../../src/services/routing/SpendPeriods.ts"
import { MAX_LABEL_VALUES } from "../../../src/services/routing/spendSums.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"

const DAY_MS = 24 * HOUR_MS
const BASE = 20_000 * DAY_MS
const Moment = Schema.Int.check(Schema.isBetween({ minimum: BASE - 30 * HOUR_MS, maximum: BASE + 400 * HOUR_MS }))
const Amount = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })))
const Call = Schema.Struct({
  at: Moment,
  key: Schema.NullOr(Schema.Literals(["key-1", "key-2"])),
  agent: Schema.NullOr(Schema.Literals(["agent-1", "agent-2"])),
  model: Schema.Literals(["small", "large"]),
  labels: Schema.Union([Schema.Struct({}), Schema.Struct({ project: Schema.Literals(["docs", "'; --", "Ä🎉"]) })]),
  cost: Amount,
  outcome: Schema.Literals(["success", "timeout"]),
})
const Calls = Schema.Array(Call).check(Schema.isMaxLength(30))

const VALUE_OF: Readonly<Record<string, (call: CallRecord) => string | null | undefined>> = {
  key: ({ key }) => key,
  agent: ({ agent }) => agent,
  model: ({ model, provider }) => `${provider}/${model}`,
  "label:project": ({ labels }) => labels["project"],
}

const sumOf = (calls: ReadonlyArray<CallRecord>) => ({
  calls: calls.length,
  failed_calls: calls.filter(({ outcome }) => outcome !== "success").length,
  unpriced_calls: calls.filter(({ cost }) => cost === null).length,
  input_tokens: calls.length * 10,
  output_tokens: calls.length * 5,
  cached_tokens: 0,
  cost_micro_usd: calls.reduce((sum, { cost }) => sum + (cost ?? 0), 0),
})

const span = (from: number, to: number) => ({ from: DateTime.makeUnsafe(from), to: DateTime.makeUnsafe(to) })

describeDatabases("Spend", (database) => {
  const services = Layer.mergeAll(Ledger.layer, Spend.layer, Agents.layer).pipe(Layer.provideMerge(database.layer))

  layer(services)((it) => {
    it.effect("names agents without reading their documents", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tenant = TenantId.make(SecureRandom.uuidV7Unsafe())
        const name = 'a "name"\u0000'
        const { id: agent } = yield* (yield* Agents).create(tenant, { name })
        yield* (yield* Ledger).record([callRecord({ tenant, agent, at: BASE })])
        // An undecodable column proves that it is not read.
        yield* sql`UPDATE agents SET document = 'unreadable' WHERE id = ${agent}`
        const { items } = yield* (yield* Spend).report({ tenant, by: "agent", ...span(BASE, BASE + 1), limit: 100 })
        assert.deepStrictEqual(
          items.map(({ name, value }) => [value, name]),
          [[agent, name]],
        )
      }),
    )

    it.effect.prop(
      "equals the sums over the calls, whichever hours are asked for",
      [Calls, Moment, Moment, Moment],
      ([made, a, b, moved]) =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const spend = yield* Spend
          const tenant = SecureRandom.uuidV7Unsafe()
          const calls = made.map((call) => callRecord({ ...call, tenant }))
          // Several writes, so that sums are also added to rows that are there, before and after these are moved.
          yield* ledger.record(calls.slice(0, 10))
          yield* moveSpend(Math.min(a, moved))
          yield* ledger.record(calls.slice(10, 20))
          yield* moveSpend(moved)
          yield* ledger.record(calls.slice(20))
          const [from, to] = [Math.min(a, b), Math.max(a, b) + 1]
          const start = Math.floor(from / HOUR_MS) * HOUR_MS
          const end = Math.ceil(to / HOUR_MS) * HOUR_MS
          const within = calls.filter(({ at }) => at >= start && at < end)
          for (const [by, valueOf] of Object.entries(VALUE_OF)) {
            const report = yield* spend.report({ tenant, by, limit: 100, ...span(from, to) })
            const groups = [...Map.groupBy(within, valueOf)]
            assert.deepStrictEqual(
              new Map(report.items.map(({ value, ...sums }) => [value, sums])),
              new Map(groups.flatMap(([value, calls]) => (value == null ? [] : [[value, sumOf(calls)]]))),
              by,
            )
            const costs = report.items.map((item) => item.cost_micro_usd)
            assert.deepStrictEqual(
              costs,
              costs.toSorted((x, y) => y - x),
            )
            assert.deepStrictEqual(report.total, sumOf(within))
            assert.deepStrictEqual(report.rest, sumOf(within.filter((call) => valueOf(call) == null)))
            assert.deepStrictEqual(report, { ...report, by, ...span(start, end) })
            Schema.encodeSync(SpendReport)(report)
          }
        }),
      { arbitrary: { runs: 25 } },
    )
  })

  const test = <E>(name: string, body: Effect.Effect<void, E, Ledger | Spend | SqlClient.SqlClient>) =>
    it.live(name, () => Effect.provide(body, services))

  test(
    "has every hour of a span once, within days and across them",
    Effect.gen(function* () {
      const spend = yield* Spend
      const hours = Array.from({ length: 400 }, (_, hour) => callRecord({ at: BASE + hour * HOUR_MS, cost: 1 }))
      yield* (yield* Ledger).record(hours)
      yield* moveSpend(BASE + 300 * HOUR_MS)
      for (const [from, to] of [
        [0, 1],
        [5, 23],
        [5, 24],
        [0, 24],
        [23, 25],
        [5, 53],
        [24, 72],
        [1, 95],
        [3, 303],
        [0, 400],
      ] as const) {
        const asked = span(BASE + from * HOUR_MS, BASE + to * HOUR_MS)
        const { total } = yield* spend.report({ tenant: "acme", by: "model", limit: 1, ...asked })
        assert.strictEqual(total.calls, to - from, `${from} to ${to}`)
      }
    }),
  )

  test(
    "keeps few rows of past hours, whoever wrote and moved them, and counts each call once",
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const spend = yield* Spend
      const ledger = yield* Ledger
      const others = yield* Effect.map(Layer.build(Layer.fresh(Ledger.layer)), (context) =>
        Context.get(context, Ledger),
      )
      const calls = Array.from({ length: 1200 }, (_, i) =>
        callRecord({ at: BASE + (i % 3) * HOUR_MS, key: `key-${i % 200}`, cost: 1 }),
      )
      yield* ledger.record(calls.slice(0, 500))
      yield* others.record(calls.slice(500, 1000))
      // Late calls are entered while two processes move the others.
      const moved = moveSpend(BASE + 3 * HOUR_MS)
      yield* Effect.all([moved, moved, ledger.record(calls.slice(1000))], { concurrency: "unbounded" })
      yield* moved
      const [left] = yield* sql<{ rows: number }>`SELECT COUNT(*) AS rows FROM ledger_spend_new`
      const [hours] = yield* sql<{
        rows: number
      }>`SELECT COUNT(*) AS rows FROM ledger_spend WHERE kind = 'key' AND unit = 1`
      assert.deepStrictEqual([left?.rows, hours?.rows], [0, 600])
      const report = yield* spend.report({ tenant: "acme", by: "key", limit: 1000, ...span(BASE, BASE + 24 * HOUR_MS) })
      assert.deepStrictEqual([report.items.length, report.total.calls, report.rest.calls], [200, 1200, 0])
      assert.isTrue(report.items.every(({ calls }) => calls === 6))
    }).pipe(Effect.scoped),
  )

  test(
    "lists the dearest up to its limit, and adds up the others",
    Effect.gen(function* () {
      const calls = [3, 9, 5, 7].map((cost) => callRecord({ key: `key-${cost}`, cost }))
      yield* (yield* Ledger).record(calls)
      const report = yield* (yield* Spend).report({ tenant: "acme", by: "key", limit: 2, ...span(0, 1) })
      assert.deepStrictEqual(
        report.items.map(({ value }) => value),
        ["key-9", "key-7"],
      )
      assert.deepInclude(report.rest, { calls: 2, cost_micro_usd: 8 })
      const others = yield* (yield* Spend).report({ tenant: "other", by: "key", limit: 2, ...span(0, 1) })
      assert.deepStrictEqual([others.items, others.total.calls], [[], 0])
    }),
  )

  test(
    "sums up no more labels of a tenant's day than its limit, and keeps the total right",
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const spend = yield* Spend
      const calls = Array.from({ length: MAX_LABEL_VALUES + 5 }, (_, i) =>
        callRecord({ at: BASE, labels: { run: `run-${i}` } }),
      )
      // The clock of this process was set forward for a moment.
      yield* ledger.record([callRecord({ at: BASE + 400 * DAY_MS, labels: { run: "ahead" } })])
      yield* ledger.record(calls)
      // A known label is still added to, and another tenant and the next day have labels of their own.
      yield* ledger.record([callRecord({ at: BASE + 1, labels: { run: "run-0" }, cost: 10 })])
      yield* ledger.record([callRecord({ at: BASE, labels: { run: "mine" }, tenant: "other" })])
      yield* ledger.record([callRecord({ at: BASE + DAY_MS, labels: { run: "tomorrow" } })])
      const of = (tenant: string) =>
        spend.report({ tenant, by: "label:run", limit: 2000, ...span(BASE, BASE + 2 * DAY_MS) })
      const report = yield* of("acme")
      assert.strictEqual(report.items.length, MAX_LABEL_VALUES + 1)
      assert.deepInclude(report.items[0], { value: "run-0", cost_micro_usd: 11 })
      assert.deepInclude(report.total, { calls: MAX_LABEL_VALUES + 7 })
      assert.deepInclude(report.rest, { calls: 5, cost_micro_usd: 5 })
      assert.deepStrictEqual(
        (yield* of("other")).items.map(({ value }) => value),
        ["mine"],
      )
    }),
  )

  test(
    "caps sums at the largest exact integer",
    Effect.gen(function* () {
      const most = Number.MAX_SAFE_INTEGER
      const tokens = { input: most, output: most, cached: most }
      const calls = Array.from({ length: 2000 }, () => callRecord({ key: "key-1", cost: most, tokens }))
      yield* (yield* Ledger).record(calls)
      yield* (yield* Ledger).record(calls.slice(0, 1).map((call) => ({ ...call, id: "another" })))
      const report = yield* (yield* Spend).report({ tenant: "acme", by: "key", limit: 2, ...span(0, 1) })
      assert.deepInclude(report.total, { calls: 2001, cost_micro_usd: most, input_tokens: most })
      assert.deepInclude(report.rest, { calls: 0, cost_micro_usd: 0 })
      Schema.encodeSync(SpendReport)(report)
    }),
  )
})
