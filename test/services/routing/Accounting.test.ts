import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Logger, Metric } from "effect"
import type { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { AttemptOutcome } from "../../../src/domain/upstream/failures.ts"
import type { RoutingSettingsInput } from "../../../src/domain/routing/routing.ts"
import { UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { StorageUnavailable } from "../../../src/domain/operations/storage.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { makeRecordPaid, MAX_KEPT } from "../../../src/services/routing/recordPaid.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { RoutingConfig } from "../../../src/services/routing/RoutingConfig.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import type { Provider } from "../../../src/services/upstream/Provider.ts"
import { sqlite } from "../../support/databases.ts"
import { fails, passingTime, says, scripted, text, usage as usageChunk } from "../upstream/ScriptedProvider.ts"
import { callRecord } from "./callRecords.ts"
import { call, completion, ledgerRows, prices, routing, settings, target } from "./RouterFixture.ts"
import { attempt, ScriptedUpstream, status, usage } from "./ScriptedUpstream.ts"

const everyone = [status("provider1"), status("provider2"), status("provider3")]

const test = (
  name: string,
  input: Partial<RoutingSettingsInput>,
  body: (upstream: ScriptedUpstream) => Effect.Effect<void, unknown, Router | SqlClient.SqlClient>,
) =>
  it.effect(name, () => {
    const upstream = new ScriptedUpstream(everyone)
    return Effect.provide(body(upstream), routing(upstream, settings(input)))
  })

const figures = Effect.map(ledgerRows, (rows) =>
  rows.map((row) => [row["provider"], row["outcome"], row["first_of_request"], row["cost"], row["baseline"]]),
)

/** Failures that come before a model runs. */
const FREE: ReadonlySet<string> = new Set([
  "misconfigured",
  "rate-limited",
  "unavailable",
  "redirected",
  "unreachable",
  "connect-timeout",
  "unauthorized",
  "key-refused",
  "invalid-request",
  "incapable",
  "broken",
  "malformed",
  "context-too-long",
  "too-large",
  "unknown-model",
  "unsupported",
  "misconfigured",
])

describe("the rows of a request", () => {
  test("hold everything about each call", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.script = () => ({ usage: usage(1000, 100, 800), servedModel: "large-2026-01-01", ttft: 40 })
      const routed = yield* call({
        job: "job-1",
        agent: "agent-1",
        key: "key-1",
        labels: { team: "docs" },
        mode: "verified",
        role: "critic",
      })
      const [row] = yield* ledgerRows
      const { at: _at, id: _id, request_id: _request, ...rest } = { ...row }
      assert.deepStrictEqual(rest, {
        first_of_request: 1,
        estimated: 0,
        own_key: 0,
        key_id: "key-1",
        labels: '{"team":"docs"}',
        reservation_id: null,
        tenant: "acme",
        job_id: "job-1",
        agent_id: "agent-1",
        mode: "verified",
        strategy: "fallback",
        role: "critic",
        provider: "provider1",
        model: "large",
        served_model: "large-2026-01-01",
        input_tokens: 1000,
        output_tokens: 100,
        cached_tokens: 800,
        price_version: "config-1",
        // 200 × 10 + 800 × 1 + 100 × 40, the baseline's own price
        cost: 6800,
        charged_tokens: 1100,
        charged_cost: 6800,
        baseline: 6800,
        latency_ms: 100,
        ttft_ms: 40,
        outcome: "success",
      })
      assert.deepStrictEqual(routed.call, {
        provider: "provider1",
        model: "large-2026-01-01",
        usage: { input_tokens: 1000, output_tokens: 100, cached_tokens: 800 },
        cost_micro_usd: 6800,
        calls: 1,
      })
    }),
  )

  test("compare only the call that served; failed calls are pure cost", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.script = () => ({ failing: [{ outcome: "truncated", usage: usage(100, 10) }], usage: usage(100, 50) })
      const routed = yield* call()
      assert.deepStrictEqual(yield* figures, [
        // 100 × 10 + 10 × 40, wasted
        ["provider1", "truncated", 1, 1400, 0],
        // 100 × 1 + 50 × 4, against 100 × 10 + 50 × 40
        ["provider2", "success", 0, 300, 3000],
      ])
      assert.deepInclude(routed.call, { calls: 2, cost_micro_usd: 1700, provider: "provider2" })
      assert.deepStrictEqual(routed.target, { provider: "provider2", model: "small" })
    }),
  )

  test("have no cost for calls that failed before the model ran, and unknown cost for broken ones", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.script = () => ({ failing: [{ outcome: "rate-limited" }], usage: usage(10, 10) })
      yield* call()
      upstream.script = () => ({ failing: [{ outcome: "timeout" }], usage: usage(10, 10) })
      const routed = yield* call()
      assert.deepStrictEqual(yield* figures, [
        ["provider1", "rate-limited", 1, 0, 0],
        ["provider2", "success", 0, 50, 500],
        ["provider1", "timeout", 1, null, 0],
        ["provider2", "success", 0, 50, 500],
      ])
      assert.isNull(routed.call.cost_micro_usd)
      assert.deepStrictEqual(routed.call.usage, { input_tokens: 10, output_tokens: 10, cached_tokens: 0 })
    }),
  )

  test("are one request and one sum if a target is asked again without what it refuses", {}, (upstream) =>
    Effect.gen(function* () {
      const attempts = [attempt({ provider: "provider1", model: "large" }, { outcome: "invalid-request" })]
      const refused = new UpstreamError({ code: "invalid-request", attempts })
      upstream.script = (_, index) => (index === 1 ? { usage: usage(10, 10) } : refused)
      const request = { completion: { ...completion(), response_format: { type: "json_object" } as const } }
      const routed = yield* call(request)
      assert.deepInclude(routed.call, { calls: 2, cost_micro_usd: 500 })
      const failed = yield* Effect.flip(call(request))
      assert.deepInclude(failed._tag === "CallFailed" ? failed.call : undefined, { calls: 2, cost_micro_usd: 0 })
      assert.deepStrictEqual(yield* figures, [
        ["provider1", "invalid-request", 1, 0, 0],
        ["provider1", "success", 0, 500, 500],
        ["provider1", "invalid-request", 1, 0, 0],
        ["provider1", "invalid-request", 0, 0, 0],
      ])
      const ids = (yield* ledgerRows).map(({ request_id }) => request_id)
      assert.deepStrictEqual(ids, [ids[0], ids[0], ids[2], ids[2]])
    }),
  )

  for (const outcome of AttemptOutcome.literals) {
    if (outcome === "success") continue
    const free = FREE.has(outcome)
    test(`${free ? "know that" : "do not know what"} ${outcome} ${free ? "is free" : "has cost"}`, {}, (upstream) =>
      Effect.gen(function* () {
        upstream.script = () => ({ failing: [{ outcome }] })
        yield* call()
        assert.deepStrictEqual((yield* figures)[0], ["provider1", outcome, 1, free ? 0 : null, 0])
      }),
    )
  }

  test(
    "have the price of the model that served, if it is known",
    { targets: [target("provider1/gpt-4.1")], baseline: { provider: "provider1", model: "gpt-4.1" } },
    (upstream) =>
      Effect.gen(function* () {
        upstream.script = () => ({ servedModel: "gpt-4.1-mini", usage: usage(1000, 0) })
        yield* call()
        assert.deepStrictEqual(yield* figures, [["provider1", "success", 1, 400, 2000]])
      }),
  )

  test(
    "have no cost if the provider sent no usage or the model has no price",
    {
      targets: [target("provider1/large", { prices: prices(10, 40) }), target("provider2/unpriced")],
    },
    (upstream) =>
      Effect.gen(function* () {
        upstream.script = () => ({ usage: null })
        const silent = yield* call()
        upstream.script = () => ({ usage: usage(10, 10) })
        yield* call({ policy: { allow: ["unpriced"] } })
        assert.deepStrictEqual(yield* figures, [
          ["provider1", "success", 1, null, null],
          ["provider2", "success", 1, null, 500],
        ])
        assert.deepInclude(silent.call, { usage: null, cost_micro_usd: null })
      }),
  )

  test("have no baseline for calls that only routing made", {}, () =>
    Effect.gen(function* () {
      yield* call({ extra: true })
      assert.deepStrictEqual(yield* figures, [["provider1", "success", 1, 300, 0]])
    }),
  )

  test("exist for a request that failed, and its error holds the cost", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.script = () =>
        new UpstreamError({
          code: "upstream-truncated",
          provider: "provider1",
          attempts: [
            attempt({ provider: "provider1", model: "large" }, { outcome: "rate-limited" }),
            attempt({ provider: "provider2", model: "small" }, { outcome: "truncated", usage: usage(100, 10) }),
          ],
        })
      const failure = Effect.flip(
        Effect.catchTag(call(), ["BudgetExhausted", "NoTarget", "StorageUnavailable"], Effect.die),
      )
      assert.deepInclude((yield* failure).call, { calls: 2, cost_micro_usd: 140, provider: "provider2" })
      assert.strictEqual((yield* ledgerRows).length, 2)
      upstream.script = () => new UpstreamError({ code: "overloaded" })
      assert.isUndefined((yield* failure).call)
      assert.strictEqual((yield* ledgerRows).length, 2)
    }),
  )

  test("exist for a call whose caller disconnected", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.script = () => ({ hangs: true })
      const fiber = yield* Effect.forkChild(call({ job: "job-1" }), { startImmediately: true })
      while (upstream.requests.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(yield* figures, [["provider1", "interrupted", 1, null, 0]])
    }),
  )
})

/** The router over a ledger that cannot be written while `isAway` says so. */
const overUnsteadyLedger = (isAway: () => boolean) => {
  const unsteady = Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) =>
      Ledger.of({
        ...ledger,
        record: (rows) =>
          Effect.suspend(() => (isAway() ? Effect.fail(new StorageUnavailable()) : ledger.record(rows))),
      }),
    ),
  ).pipe(Layer.provide(Ledger.layer))
  return Router.layer.pipe(Layer.provideMerge(Layer.merge(RoutingConfig.layer(), unsteady)))
}

const withUnsteadyLedger = (upstream: ScriptedUpstream, isAway: () => boolean) =>
  Layer.provideMerge(overUnsteadyLedger(isAway), Layer.merge(upstream.layer, sqlite.layer))

it.effect("rows are retried when the database is away for a moment", () => {
  const upstream = new ScriptedUpstream(everyone)
  let away = 2
  return Effect.gen(function* () {
    yield* RoutingConfig.use((config) => config.put(settings(), { by: "test" }))
    // Longer than it waits between its tries, and less than the database may take.
    const routed = yield* passingTime(call(), "1 second")
    assert.strictEqual(routed.text, "ok")
    assert.strictEqual(away, -1)
    assert.strictEqual((yield* ledgerRows).length, 1)
  }).pipe(Effect.provide(withUnsteadyLedger(upstream, () => away-- > 0)))
})

/** Lets seconds pass until something is done; real time too, which the database takes. */
const passUntil = <E, R>(isDone: Effect.Effect<boolean, E, R>) =>
  TestClock.adjust("1 second").pipe(
    Effect.andThen(TestClock.withLive(Effect.sleep("10 millis"))),
    Effect.andThen(isDone),
    Effect.repeat({ until: (done) => done, times: 60 }),
  )

const budgeted = [
  { owner: { kind: "key" as const, id: "key" }, budgets: [{ per: "total" as const, max_cost_micro_usd: 10_000_000 }] },
]

it.effect("rows of paid calls are kept while the database is away, and entered once it is back", () => {
  const upstream = new ScriptedUpstream(everyone)
  let isAway = false
  return Effect.gen(function* () {
    yield* RoutingConfig.use((config) => config.put(settings(), { by: "test" }))
    isAway = true
    const answered = yield* Effect.forkChild(Effect.flip(call({ budgeted })), { startImmediately: true })
    yield* Effect.repeat(Effect.yieldNow, { until: () => upstream.requests.length === 1 })
    upstream.script = () => ({ hangs: true })
    const hangUp = yield* Effect.forkChild(call(), { startImmediately: true })
    yield* Effect.repeat(Effect.yieldNow, { until: () => upstream.requests.length === 2 })
    yield* Effect.forkChild(Fiber.interrupt(hangUp), { startImmediately: true })
    yield* passUntil(Effect.sync(() => [answered, hangUp].every((fiber) => fiber.pollUnsafe() !== undefined)))
    assert.strictEqual((yield* Fiber.join(answered))._tag, "StorageUnavailable")
    assert.deepStrictEqual(yield* ledgerRows, [])
    isAway = false
    yield* passUntil(Effect.map(ledgerRows, (rows) => rows.length === 2))
    const rows = yield* ledgerRows
    assert.deepStrictEqual(
      rows.map((row) => [row["outcome"], row["reservation_id"] !== null]),
      [
        ["success", true],
        ["interrupted", false],
      ],
    )
    // Each was written once.
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* ledgerRows).length, 2)
  }).pipe(Effect.provide(withUnsteadyLedger(upstream, () => isAway)))
})

it.effect("kept rows are entered at a shutdown", () => {
  const upstream = new ScriptedUpstream(everyone)
  let isAway = false
  return Effect.gen(function* () {
    const gateway = overUnsteadyLedger(() => isAway)
    yield* Effect.gen(function* () {
      yield* RoutingConfig.use((config) => config.put(settings(), { by: "test" }))
      isAway = true
      yield* Effect.flip(passingTime(call(), "8 seconds"))
      isAway = false
    }).pipe(Effect.provide(gateway))
    assert.strictEqual((yield* ledgerRows).length, 1)
  }).pipe(Effect.provide(Layer.merge(upstream.layer, sqlite.layer)))
})

it.effect("kept rows have a bound, which the log names once, and a refused one holds up no other", () => {
  const lines: Array<string> = []
  const logged = Logger.layer([Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))])
  let isAway = true
  const entered: Array<string> = []
  return Effect.gen(function* () {
    const record = yield* makeRecordPaid
    const rows = Array.from({ length: MAX_KEPT }, (_, index) => callRecord({ tenant: index < 64 ? "refused" : "" }))
    for (const paid of [rows, [callRecord({})], [callRecord({})]]) {
      yield* passingTime(Effect.flip(record(paid)), "8 seconds")
    }
    assert.strictEqual(lines.filter((line) => line.includes("The ledger will miss calls")).length, 1)
    isAway = false
    yield* passUntil(Effect.sync(() => entered.length === MAX_KEPT - 64))
    assert.strictEqual(new Set(entered).size, MAX_KEPT - 64)
  }).pipe(
    Effect.provide(
      Layer.merge(
        logged,
        Layer.mock(Ledger, {
          record: (rows) =>
            Effect.suspend(() => {
              if (isAway || rows.some(({ tenant }) => tenant === "refused"))
                return Effect.fail(new StorageUnavailable())
              entered.push(...rows.map(({ id }) => id))
              return Effect.void
            }),
        }),
      ),
    ),
  )
})

it.effect("metrics sum cost and baseline of calls, and count calls that cannot be compared", () => {
  const upstream = new ScriptedUpstream(everyone)
  const targets = [target("provider1/large", { prices: prices(10, 40) }), target("provider2/unpriced")]
  return Effect.gen(function* () {
    upstream.script = () => ({ usage: usage(10, 10) })
    yield* call({ mode: "verified" })
    yield* call({ mode: "verified", extra: true })
    yield* call({ policy: { allow: ["unpriced"] } })
    upstream.script = () => ({ usage: null })
    yield* call()
    // One call that failed, and the one that served.
    upstream.script = () => ({ failing: [{ outcome: "truncated", usage: usage(100, 10) }], usage: usage(10, 10) })
    yield* call()
    const counted = (yield* Metric.snapshot).flatMap(({ attributes, id, state }) =>
      "count" in state ? [`${id} ${attributes?.["strategy"]} ${attributes?.["mode"]} ${state.count}`] : [],
    )
    assert.sameMembers(counted, [
      // 10 × 10 + 10 × 40 twice, only one of them in place of a call to the baseline.
      "sealgate_routing_cost_micro_usd_total fallback verified 1000",
      "sealgate_routing_baseline_micro_usd_total fallback verified 500",
      // 100 × 10 + 10 × 40 for what broke off; the baseline would not have made that call.
      "sealgate_routing_cost_micro_usd_total fallback none 1400",
      "sealgate_routing_baseline_micro_usd_total fallback none 0",
      // Without a price, without usage, and without a price again.
      "sealgate_routing_unpriced_calls_total fallback none 3",
    ])
  }).pipe(
    Effect.provide(routing(upstream, settings({ targets }))),
    Effect.provideService(Metric.MetricRegistry, new Map()),
  )
})

/** Lets virtual time pass a little at a time, and real time in between, because the database commits in that. */
const inSmallSteps = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(() => setImmediate(resolve))))
      yield* TestClock.adjust("5 millis")
    }
    return yield* Fiber.join(fiber)
  })

describe("over the real fault policy", () => {
  const over = (...providers: ReadonlyArray<Provider>) =>
    Router.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(RoutingConfig.layer(), Ledger.layer)),
      Layer.provideMerge(Layer.merge(Upstream.layer({ providers }), sqlite.layer)),
    )

  it.effect("retries, failovers and restarts of a stream are rows, and only the last attempt is the answer", () => {
    const [first, second] = [scripted("provider1", "large"), scripted("provider2", "small")]
    first.script([fails("unavailable")], [text("no use"), usageChunk(10, 2), fails("truncated")])
    second.always([...says("good"), usageChunk(10, 5)])
    return Effect.gen(function* () {
      const config = yield* RoutingConfig
      yield* config.put(settings({ retry: { max_retries: 1, base_delay_ms: 10, max_delay_ms: 10 } }), { by: "test" })
      const routed = yield* call()
      assert.strictEqual(routed.text, "good")
      assert.deepStrictEqual(yield* figures, [
        ["provider1", "unavailable", 1, 0, 0],
        ["provider1", "truncated", 0, 180, 0],
        ["provider2", "success", 0, 30, 300],
      ])
    }).pipe(Effect.provide(over(first, second)), inSmallSteps)
  })
})
