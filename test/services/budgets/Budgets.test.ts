import { assert, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Budget, BudgetOwner } from "../../../src/domain/access/budgets.ts"
import { Budgets, type PlannedCall } from "../../../src/services/budgets/Budgets.ts"
import { ReserveMore } from "../../../src/services/budgets/CurrentReservation.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "../routing/callRecords.ts"

type Account = PlannedCall["asked"]["account"]

const ASKED: PlannedCall["asked"] = {
  account: {
    tenant: "acme",
    job: "job",
    agent: null,
    key: "key",
    labels: { team: "a" },
    mode: null,
    role: "proposer",
    extra: false,
  },
  strategy: "cost",
  target: { provider: "provider1", model: "small" },
}
const amount = (cost: number, tokens = 0) => ({ cost, tokens })
const of = (kind: BudgetOwner["kind"], ...budgets: ReadonlyArray<Budget>) => ({ owner: { kind, id: kind }, budgets })
const planned = (worst: PlannedCall["worst"], ...budgeted: PlannedCall["budgeted"]): PlannedCall => ({
  budgeted,
  worst,
  asked: ASKED,
})

const stored = SqlClient.SqlClient.use(
  (sql) => sql<{ owner: string; spent_cost: number; spent_tokens: number; reserved_cost: number }>`
    SELECT owner, spent_cost, spent_tokens, reserved_cost FROM budget_use ORDER BY owner, per`,
)
const spent = Effect.map(stored, (rows) => rows.map(({ spent_cost }) => spent_cost))
const reservations = SqlClient.SqlClient.use((sql) => sql`SELECT id FROM budget_reservations`)

/** Lets renewals happen until one has done its work. Each has real time to end, because its statements time out by the test's clock. */
const renewedUntil = Effect.fnUntraced(function* <A, E, R>(read: Effect.Effect<A, E, R>, isDone: (read: A) => boolean) {
  for (let turn = 0; !isDone(yield* read); turn++) {
    if (turn % 50 === 0) yield* TestClock.adjust("5 seconds")
    else yield* TestClock.withLive(Effect.sleep("10 millis"))
  }
})

describeDatabases("budgets", (database) => {
  const storage = Layer.provideMerge(Ledger.layer, database.layer)
  /** Returns once so many reservations are left. The embedded database, which has no other process, ends lost ones at once. */
  const onceLeft = (count: number) =>
    database.kind === "sqlite"
      ? Effect.repeat(reservations, { until: (rows) => rows.length === count })
      : renewedUntil(reservations, (rows) => rows.length === count)
  const test = <E>(name: string, body: Effect.Effect<void, E, Budgets | SqlClient.SqlClient>) =>
    it.effect(name, () => Effect.provide(body, Layer.provideMerge(Budgets.layer, storage)))

  it.effect("let exactly the affordable calls of 1,000 concurrent ones of three processes through", () =>
    Effect.gen(function* () {
      const layer = yield* database.create
      const open = Layer.build(Layer.fresh(Layer.provideMerge(Budgets.layer, Layer.provideMerge(Ledger.layer, layer))))
      // SQLite has one process per file.
      const processes = database.kind === "sqlite" ? [yield* open] : [yield* open, yield* open, yield* open]
      let calls = 0
      const whose = [
        of("tenant", { per: "total", max_tokens: 10_000 }),
        of("key", { per: "day", max_cost_micro_usd: 1000 }),
      ]
      const one = (index: number) => {
        const context = processes[index % processes.length] ?? Context.empty()
        const call = Effect.sync(() => void calls++)
        return Effect.exit(
          Budgets.use((budgets) => budgets.within(planned(amount(10, 50), ...whose), call, () => amount(10, 20))).pipe(
            Effect.provideContext(context as Context.Context<Budgets>), // Each has the service.
          ),
        )
      }
      const exits = yield* Effect.forEach(Array.from({ length: 1000 }).keys(), one, { concurrency: "unbounded" })
      assert.strictEqual(calls, 100)
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 100)
      const [first = Context.empty()] = processes
      const rows = yield* Effect.provideContext(stored, first as Context.Context<SqlClient.SqlClient>) // As above.
      const used = { spent_cost: 1000, spent_tokens: 2000, reserved_cost: 0 }
      assert.deepStrictEqual(rows, [
        { owner: "key:key", ...used },
        { owner: "tenant:tenant", ...used },
      ])
    }),
  )

  test(
    "reserve nothing of a budget if another has too little left, and say which, how much and when it renews",
    Effect.gen(function* () {
      const budgets = yield* Budgets
      const whose = [
        of("key", { per: "hour", max_cost_micro_usd: 5 }),
        of("tenant", { per: "total", max_cost_micro_usd: 100 }),
      ]
      yield* budgets.within(planned(amount(4), ...whose), Effect.void, () => amount(3))
      const refused = yield* Effect.flip(budgets.within(planned(amount(4), ...whose), Effect.void, () => amount(0)))
      assert.deepInclude(refused, {
        _tag: "BudgetExhausted",
        owner: { kind: "key", id: "key" },
        per: "hour",
        leftCost: 2,
        renewsAt: 3_600_000,
        status: 429,
      })
      assert.deepStrictEqual(yield* stored, [
        { owner: "key:key", spent_cost: 3, spent_tokens: 0, reserved_cost: 0 },
        { owner: "tenant:tenant", spent_cost: 3, spent_tokens: 0, reserved_cost: 0 },
      ])
      yield* TestClock.adjust("1 hour")
      yield* budgets.within(planned(amount(4), ...whose), Effect.void, () => amount(4))
    }),
  )

  test(
    "say whether a call has to wait for other calls or for a renewal",
    Effect.gen(function* () {
      const budgets = yield* Budgets
      const whose = [
        of("key", { per: "total", max_cost_micro_usd: 100 }),
        of("tenant", { per: "hour", max_cost_micro_usd: 120 }),
      ]
      const plan = (cost: number) => planned(amount(cost), ...whose)
      const underWay = yield* Deferred.make<void>()
      const other = budgets.within(plan(60), Deferred.await(underWay), () => amount(10))
      const fiber = yield* Effect.forkChild(other)
      yield* Effect.repeat(reservations, { until: (rows) => rows.length > 0 })
      const refusalOf = (cost: number) => Effect.flip(budgets.within(plan(cost), Effect.void, () => amount(0)))
      const reserved = yield* refusalOf(60)
      assert.deepInclude(reserved, { code: "budget-reserved", status: 429, retryable: true, leftCost: 40 })
      assert.notProperty(reserved, "renewsAt")
      assert.include(reserved.message, "The key's total budget")
      assert.deepInclude(yield* refusalOf(101), { code: "budget-exhausted", status: 402, retryable: false })
      yield* Deferred.succeed(underWay, undefined)
      yield* Fiber.join(fiber)
      yield* budgets.within(plan(60), Effect.void, () => amount(60))
      assert.deepInclude(yield* refusalOf(60), { code: "budget-exhausted", per: "total", leftCost: 30 })
    }),
  )

  test(
    "settle failed and interrupted calls at what they used, and a lying provider's at what it reports",
    Effect.gen(function* () {
      const budgets = yield* Budgets
      const plan = (cost: number) => planned(amount(cost), of("key", { per: "total", max_cost_micro_usd: 100 }))
      yield* Effect.flip(budgets.within(plan(40), Effect.fail("broken"), () => amount(7)))
      yield* Effect.exit(budgets.within(plan(40), Effect.interrupt, () => amount(5)))
      assert.deepStrictEqual(yield* spent, [12])
      const refused = yield* Effect.flip(budgets.within(plan(89), Effect.void, () => amount(0)))
      assert.deepInclude(refused, { per: "total", leftCost: 88, status: 402 })
      yield* budgets.within(plan(10), Effect.void, () => amount(200))
      assert.deepStrictEqual(yield* spent, [212])
      const after = yield* Effect.flip(budgets.within(plan(1), Effect.void, () => amount(0)))
      assert.deepInclude(after, { leftCost: 0 })
    }),
  )

  test(
    "let a call reserve more while there is room, and charge what it used of all once",
    Effect.gen(function* () {
      const budgets = yield* Budgets
      const plan = planned(amount(40, 4), of("key", { per: "total", max_cost_micro_usd: 100 }))
      const call = Effect.gen(function* () {
        const more = yield* ReserveMore
        assert.isFalse(yield* more(amount(61)))
        assert.isTrue(yield* more(amount(60, 6)))
        assert.isFalse(yield* more(amount(1)))
      })
      yield* budgets.within(plan, call, () => amount(70, 7))
      assert.deepStrictEqual(yield* stored, [{ owner: "key:key", spent_cost: 70, spent_tokens: 7, reserved_cost: 0 }])
      assert.deepStrictEqual(yield* reservations, [])
    }),
  )

  it.effect("charge a request that reserved more as the ledger says, if its process died after the answer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ledger = yield* Ledger
      const start = Effect.map(Layer.build(Layer.fresh(Budgets.layer)), (context) => Context.get(context, Budgets))
      const dead = yield* start
      const begun = yield* Deferred.make<void>()
      const call = Effect.gen(function* () {
        assert.isTrue(yield* (yield* ReserveMore)(amount(40)))
        yield* Effect.orDie(ledger.record([callRecord({ at: 1, charged: { cost: 60, tokens: 0 } })]))
        yield* Deferred.succeed(begun, undefined)
        return yield* Effect.never
      })
      const plan = planned(amount(40), of("key", { per: "total", max_cost_micro_usd: 80 }))
      yield* Effect.forkChild(dead.within(plan, call, () => amount(60)))
      yield* Deferred.await(begun)
      if (database.kind === "postgres") yield* sql`UPDATE budget_reservations SET holder = 'dead', until = 0`
      yield* start
      yield* onceLeft(0)
      assert.deepStrictEqual(yield* stored, [{ owner: "key:key", spent_cost: 60, spent_tokens: 0, reserved_cost: 0 }])
    }).pipe(Effect.provide(storage)),
  )

  it.effect("end the reservations of a process that died: charged as the ledger says, or else as reserved", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ledger = yield* Ledger
      const start = Effect.map(Layer.build(Layer.fresh(Budgets.layer)), (context) => Context.get(context, Budgets))
      const dead = yield* start
      const begin = Effect.fnUntraced(function* (first: Effect.Effect<unknown>, account: Partial<Account> = {}) {
        const begun = yield* Deferred.make<void>()
        const call = first.pipe(Effect.andThen(Deferred.succeed(begun, undefined)), Effect.andThen(Effect.never))
        const plan = planned(amount(40, 400), of("key", { per: "total", max_cost_micro_usd: 200 }))
        const asked = { ...plan.asked, account: { ...plan.asked.account, ...account } }
        const fiber = yield* Effect.forkChild(dead.within({ ...plan, asked }, call, () => amount(1)))
        yield* Deferred.await(begun)
        return fiber
      })
      const inFlight = yield* begin(Effect.void)
      const answered = yield* begin(
        Effect.orDie(ledger.record([callRecord({ at: 1, charged: { cost: 7, tokens: 70 } })])),
      )
      const ofNoJob = yield* begin(Effect.void, { job: null, role: null, labels: {}, key: null })
      assert.strictEqual((yield* reservations).length, 3)
      // A process of the embedded database needs no lease: it is the only one.
      if (database.kind === "postgres") yield* sql`UPDATE budget_reservations SET holder = 'dead', until = 0`
      // Rows of another version, which cannot be read in part, or not at all.
      const uses = JSON.stringify([{ owner: "key:key", per: "total", since: 0 }])
      yield* sql`UPDATE budget_use SET reserved_cost = reserved_cost + 5, reserved_tokens = reserved_tokens + 50`
      yield* sql`INSERT INTO budget_reservations (id, holder, until, at, cost, tokens, uses, asked)
        VALUES ('odd', 'dead', 0, 0, 5, 50, ${uses}, '{}'), ('odder', 'dead', 0, 0, 0, 0, '{}', '{}')`
      yield* start
      yield* onceLeft(1)

      const charged = [{ owner: "key:key", spent_cost: 92, spent_tokens: 920, reserved_cost: 0 }]
      assert.deepStrictEqual(yield* stored, charged)
      const estimates = yield* sql`SELECT key_id, labels, job_id, charged_cost, charged_tokens, cost, outcome
        FROM ledger_calls WHERE estimated = 1 ORDER BY job_id IS NULL`
      const charge = { charged_cost: 40, charged_tokens: 400, cost: null, outcome: "interrupted" }
      assert.deepStrictEqual(
        estimates.map((row) => ({ ...row })),
        [
          { key_id: "key", labels: '{"team":"a"}', job_id: "job", ...charge },
          { key_id: null, labels: null, job_id: null, ...charge },
        ],
      )
      // The process was alive after all: what it settles now is charged already.
      yield* Effect.forEach([inFlight, answered, ofNoJob], Fiber.interrupt)
      assert.deepStrictEqual(yield* stored, charged)
    }).pipe(Effect.provide(storage)),
  )

  it.effect("charge a call once if another process took its reservation over while it ran", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const start = Effect.map(Layer.build(Layer.fresh(Budgets.layer)), (context) => Context.get(context, Budgets))
      const slow = yield* start
      const begun = yield* Deferred.make<void>()
      const call = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      const plan = planned(amount(40, 400), of("key", { per: "total", max_cost_micro_usd: 100 }))
      const fiber = yield* Effect.forkChild(slow.within(plan, call, () => amount(7, 70)))
      yield* Deferred.await(begun)
      yield* sql`UPDATE budget_reservations SET holder = 'the other process'`
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* stored, [{ owner: "key:key", spent_cost: 0, spent_tokens: 0, reserved_cost: 40 }])
      assert.strictEqual((yield* reservations).length, 1)
      // The other process died before it settled, so a third one does.
      yield* sql`UPDATE budget_reservations SET until = 0`
      yield* start
      yield* onceLeft(0)
      assert.deepStrictEqual(yield* stored, [{ owner: "key:key", spent_cost: 40, spent_tokens: 400, reserved_cost: 0 }])
    }).pipe(Effect.provide(storage)),
  )

  const onPostgres = database.kind === "postgres" ? it.effect : () => {}
  onPostgres("outlive an outage in which all leases ran out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const start = Effect.map(Layer.build(Layer.fresh(Budgets.layer)), (context) => Context.get(context, Budgets))
      yield* start
      // The idle process works before the busy one.
      yield* TestClock.adjust("2 seconds")
      const busy = yield* start
      const begun = yield* Deferred.make<void>()
      const call = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      const plan = planned(amount(40), of("key", { per: "total", max_cost_micro_usd: 100 }))
      const fiber = yield* Effect.forkChild(busy.within(plan, call, () => amount(1)))
      yield* Deferred.await(begun)
      const pass = Effect.fnUntraced(function* (seconds: number) {
        for (let n = 0; n < seconds; n++) {
          yield* TestClock.adjust("1 second")
          yield* TestClock.withLive(Effect.sleep("30 millis"))
        }
      })
      yield* sql`ALTER TABLE budget_reservations RENAME TO away`
      yield* pass(7)
      yield* sql`UPDATE away SET until = 0`
      yield* sql`ALTER TABLE away RENAME TO budget_reservations`
      const leases = sql<{ until: number }>`SELECT until FROM budget_reservations`
      yield* TestClock.adjust("1 second")
      yield* TestClock.withLive(Effect.repeat(leases, { until: ([lease]) => lease?.until !== 0 }))
      yield* pass(40)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* sql`SELECT outcome FROM ledger_calls`, [])
      assert.deepStrictEqual(yield* spent, [1])
    }).pipe(Effect.provide(storage)),
  )

  it.effect("renew the reservations of calls that run for long", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const budgets = yield* Budgets
      const plan = planned(amount(40), of("key", { per: "total", max_cost_micro_usd: 100 }))
      const begun = yield* Deferred.make<void>()
      const call = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      const fiber = yield* Effect.forkChild(budgets.within(plan, call, () => amount(1)))
      yield* Deferred.await(begun)
      yield* sql`UPDATE budget_reservations SET until = until - 14000`
      const until = sql<{ until: number }>`SELECT until FROM budget_reservations`
      const before = (yield* until)[0]?.until ?? 0
      yield* renewedUntil(until, (rows) => (rows[0]?.until ?? 0) >= before + 14_000)
      // A row of another version cannot be read; it must not keep the rest from being renewed.
      yield* sql`INSERT INTO budget_reservations (id, holder, until, at, cost, tokens, uses, asked)
        VALUES ('odd', 'dead', 0, 0, 0, 0, '[]', '{}')`
      const odd = sql`SELECT 1 FROM budget_reservations WHERE id = 'odd'`
      yield* renewedUntil(odd, (rows) => rows.length === 0)
      yield* sql`UPDATE budget_reservations SET until = until - 14000`
      const late = (yield* until)[0]?.until ?? 0
      yield* renewedUntil(until, (rows) => (rows[0]?.until ?? 0) >= late + 14_000)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* spent, [1])
    }).pipe(Effect.provide(Layer.provideMerge(Budgets.layer, storage))),
  )
})
