import { assert, describe, it } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { RoutingSettings, RoutingSettingsInput } from "../../../src/domain/routing/routing.ts"
import { routingETag, settingsIssues } from "../../../src/domain/routing/routingChecks.ts"
import { defaultSettings } from "../../../src/services/routing/DefaultSettings.ts"
import { RoutingConfig } from "../../../src/services/routing/RoutingConfig.ts"
import type { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { describeDatabases } from "../../support/databases.ts"
import { prices, settings, target } from "./RouterFixture.ts"
import { ScriptedUpstream, status } from "./ScriptedUpstream.ts"

/** Every version that is kept, the newest first. */
const stored = SqlClient.SqlClient.use((sql) => sql`SELECT * FROM routing_configs ORDER BY version DESC`).pipe(
  Effect.flatMap(
    Schema.decodeUnknownEffect(
      Schema.Array(
        Schema.Struct({
          document: Schema.fromJsonString(RoutingSettings),
          stored_by: Schema.String,
          stored_at: Schema.DateTimeUtcFromMillis,
        }),
      ),
    ),
  ),
)

const both = [status("provider1"), status("provider2")]

describeDatabases("RoutingConfig", (database) => {
  const test = (
    name: string,
    body: (
      config: RoutingConfig["Service"],
      upstream: ScriptedUpstream,
    ) => Effect.Effect<void, unknown, Upstream | SqlClient.SqlClient>,
  ) =>
    it.live(name, () => {
      const upstream = new ScriptedUpstream(both)
      return RoutingConfig.use((config) => body(config, upstream)).pipe(
        Effect.provide(Layer.provideMerge(RoutingConfig.layer(), Layer.merge(upstream.layer, database.layer))),
      )
    })

  test("derives a configuration until one is stored, and that one works", (config, upstream) =>
    Effect.gen(function* () {
      upstream.statuses = [status("provider3", "claude-sonnet-5-5"), status("provider1", "gpt-5-mini")]
      const derived = yield* config.current
      assert.strictEqual(derived.version, 0)
      assert.strictEqual(derived.strategy, "cost")
      assert.deepStrictEqual(derived.baseline, { provider: "provider3", model: "claude-sonnet-5-5" })
      const stored = yield* config.put(derived, { by: "ada" })
      assert.deepStrictEqual(stored, { ...derived, version: 1 })
    }))

  test("stores a configuration for every process, with author and time", (config) =>
    Effect.gen(function* () {
      const first = yield* config.put(settings(), { by: "ada" })
      const second = yield* config.put({ ...first, strategy: "quality" }, { by: "grace" }).pipe(Effect.flip)
      assert.strictEqual(second._tag, "RoutingSettingsInvalid")
      const changed = yield* config.put(settings({ strategy: "weighted" }), { by: "grace" })
      assert.strictEqual(changed.version, 2)
      assert.deepStrictEqual(yield* config.current, changed)

      const another = yield* RoutingConfig.use((other) => other.current).pipe(
        Effect.provide(RoutingConfig.layer(), { local: true }),
      )
      assert.deepStrictEqual(another, changed)
      const history = yield* stored
      assert.deepStrictEqual(
        history.map(({ document, stored_by }) => [stored_by, document.version, document.strategy]),
        [
          ["grace", 2, "weighted"],
          ["ada", 1, "fallback"],
        ],
      )
      const age = DateTime.distance(history[0]?.stored_at ?? DateTime.makeUnsafe(0), yield* DateTime.now)
      assert.isBelow(Duration.toMillis(age), 60_000)
    }))

  it.effect("is in force for the next call here, and for every call of other processes a second later", () =>
    Effect.gen(function* () {
      const here = yield* RoutingConfig
      const other = yield* Effect.map(Layer.build(RoutingConfig.layer()), Context.get(RoutingConfig))
      assert.strictEqual((yield* here.ofCall).version, 0)
      assert.strictEqual((yield* other.ofCall).version, 0)
      const changed = yield* here.put(settings(), { by: "ada" })
      assert.deepStrictEqual(yield* here.ofCall, changed)
      assert.strictEqual((yield* other.ofCall).version, 0)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* other.ofCall, changed)
      const again = yield* here.put(changed, { by: "ada" })
      assert.deepStrictEqual(yield* other.current, again)
      assert.deepStrictEqual(yield* other.ofCall, again)
    }).pipe(
      Effect.provide(
        Layer.provideMerge(RoutingConfig.layer(), Layer.merge(new ScriptedUpstream(both).layer, database.layer)),
      ),
    ),
  )

  test("stores nothing of the prices that it shows", (config) =>
    Effect.gen(function* () {
      const input = settings()
      const sent = { ...input, effective_prices: [{ provider: "provider1", prices: "free" }] }
      assert.deepStrictEqual(yield* config.put(sent, { by: "ada" }), { ...input, version: 1 })
      assert.deepStrictEqual(yield* config.current, { ...input, version: 1 })
    }))

  test("refuses a change to a version that is not the one in force", (config) =>
    Effect.gen(function* () {
      const first = yield* config.put(settings(), { by: "ada", ifMatch: routingETag({ version: 0 }) })
      const stale = yield* Effect.flip(config.put(settings(), { by: "grace", ifMatch: '"0"' }))
      assert.deepInclude(stale, { _tag: "RoutingSettingsStale", status: 412, headers: { etag: routingETag(first) } })
      const outdated = yield* Effect.flip(config.put({ ...settings(), version: 0 }, { by: "grace" }))
      assert.strictEqual(outdated._tag, "RoutingSettingsStale")
      yield* config.put(settings(), { by: "grace", ifMatch: routingETag(first) })
      yield* config.put({ ...settings(), version: 0 }, { by: "grace", ifMatch: "*" })
      assert.strictEqual((yield* config.current).version, 3)
    }))

  test("lets one of several changes to the same version win", (config) =>
    Effect.gen(function* () {
      const put = config.put(settings(), { by: "ada", ifMatch: '"0"' })
      const outcomes = yield* Effect.all(
        Array.from({ length: 8 }, () => Effect.match(put, { onSuccess: () => "stored", onFailure: (e) => e._tag })),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter((outcome) => outcome === "stored").length, 1)
      assert.strictEqual(outcomes.filter((outcome) => outcome === "RoutingSettingsStale").length, 7)
      assert.strictEqual((yield* stored).length, 1)
    }))

  test("changes nothing if there is any error, and names all errors", (config, upstream) =>
    Effect.gen(function* () {
      upstream.statuses = [status("provider1")]
      const error = yield* Effect.flip(
        config.put(
          settings({
            strategy: "cascade",
            baseline: { provider: "provider4", model: "unheard-of" },
            targets: [
              target("provider1/a", { first_token_ms: 51 }),
              target("provider2/gpt-5", { first_token_ms: 50 }),
              target("provider1/a"),
            ],
            roles: { judge: { allow: ["provider3"] } },
            retry: { max_retries: 1, base_delay_ms: 100, max_delay_ms: 50 },
            timeouts: { first_token_ms: 100, idle_ms: 100, total_ms: 50 },
          }),
          { by: "ada" },
        ),
      )
      if (error._tag !== "RoutingSettingsInvalid") return assert.fail(error._tag)
      assert.deepStrictEqual(
        error.errors?.map(({ path }) => path),
        [
          "targets.0.prices",
          "targets.1.provider",
          "targets.2",
          "targets.2.prices",
          "cascade.escalate_below",
          "baseline",
          "roles.judge",
          "retry.max_delay_ms",
          "targets.0.first_token_ms",
          "timeouts.total_ms",
        ],
      )
      assert.isTrue(error.errors?.every(({ message }) => message.length > 10))
      assert.strictEqual((yield* config.current).version, 0)
    }))

  test("hands the fault policy to the upstream once per change", (config, upstream) =>
    Effect.gen(function* () {
      const { breaker, retry, timeouts } = settings()
      yield* config.put(settings({ retry: { ...retry, max_retries: 4 }, breaker, timeouts }), { by: "ada" })
      yield* config.current
      yield* config.current
      assert.strictEqual(upstream.configured.length, 1)
      assert.strictEqual(upstream.configured[0]?.retry.times, 4)
      assert.deepStrictEqual(upstream.configured[0]?.timeouts.idle, Duration.millis(timeouts.idle_ms))
      assert.deepStrictEqual(upstream.configured[0]?.bulkhead, defaultUpstreamSettings.bulkhead)
    }))
})

describe("settingsIssues", () => {
  const everything = { exists: (id: string) => id !== "provider9", isConfigured: () => true, hasPrice: () => false }
  const paths = (members: Parameters<typeof settings>[0]) =>
    settingsIssues(settings(members), everything).map(({ path }) => path)

  it("accepts working settings", () => {
    assert.deepStrictEqual(paths({}), [])
    assert.deepStrictEqual(paths({ strategy: "latency" }), [])
  })

  it("refuses an unknown provider in any place", () => {
    const baseline = { provider: "provider9", model: "m" }
    assert.deepStrictEqual(paths({ baseline, targets: [target("provider9/m")] }), [
      "targets.0.provider",
      "baseline.provider",
    ])
  })

  it("requires the members that each strategy needs", () => {
    assert.deepStrictEqual(paths({ strategy: "quality" }), ["targets.0.quality", "targets.1.quality"])
    const weightless = [
      target("provider1/large", { weight: 0, prices: prices(1, 1) }),
      target("provider2/small", { weight: 0 }),
    ]
    assert.deepStrictEqual(paths({ strategy: "weighted", targets: weightless }), ["targets"])
    assert.deepStrictEqual(paths({ strategy: "cost", targets: weightless }), ["targets.1.prices"])
    assert.deepStrictEqual(paths({ strategy: "fallback", targets: weightless }), [])
  })
})

describe("RoutingSettingsInput", () => {
  const decode = Schema.decodeUnknownExit(RoutingSettingsInput)
  it.each([
    ["no targets", { targets: [] }],
    ["what cannot name a provider", { baseline: { provider: "a/b", model: "m" } }],
    ["a model's name that Postgres does not keep", { baseline: { provider: "provider1", model: "m\u0000" } }],
    ["a provider's name with a capital letter", { baseline: { provider: "OpenAI", model: "m" } }],
    ["a provider's name that Postgres does not keep", { baseline: { provider: "a\u0000", model: "m" } }],
    ["a provider's name that is too long", { baseline: { provider: "a".repeat(33), model: "m" } }],
    ["a negative weight", { targets: [{ ...target("provider1/a"), weight: -1 }] }],
    ["a quality above 1", { targets: [{ ...target("provider1/a"), quality: 1.1 }] }],
    [
      "a price in dollars",
      { targets: [{ ...target("provider1/a"), prices: { input: 2.5, output: 10, cached_input: 1 } }] },
    ],
    ["a threshold above 1", { cascade: { escalate_below: 60 } }],
    ["a cascade without a threshold", { cascade: {} }],
    ["a strategy of its own", { strategy: "cheapest" }],
    ["more retries than allowed", { retry: { max_retries: 100, base_delay_ms: 1, max_delay_ms: 1 } }],
  ])("refuses %s", (_, members) => {
    assert.strictEqual(decode({ ...settings(), ...members })._tag, "Failure")
  })
  it("accepts what works", () => {
    assert.strictEqual(decode(settings())._tag, "Success")
  })
})

describe("defaultSettings", () => {
  const at = Date.UTC(2026, 10, 21)
  const derive = (...offering: ReadonlyArray<readonly [provider: string, model: string]>) =>
    defaultSettings(
      offering.map(([provider, name]) => ({ provider, offers: [{ name }] })),
      defaultUpstreamSettings,
      at,
    )

  it("follows the order when a price is missing, and compares with the first that has one", () => {
    const derived = derive(["provider2", "local-model"], ["provider1", "gpt-5"])
    assert.strictEqual(derived.strategy, "fallback")
    assert.deepStrictEqual(derived.baseline, { provider: "provider1", model: "gpt-5" })
    assert.deepStrictEqual(
      derived.targets.map(({ max_context_tokens, model }) => [model, max_context_tokens]),
      [
        ["local-model", 128_000],
        ["gpt-5", 272_000],
      ],
    )
  })

  it("works with echo alone", () => {
    const derived = derive(["echo", "echo-1"])
    assert.deepStrictEqual(derived.baseline, { provider: "echo", model: "echo-1" })
    assert.deepStrictEqual(
      settingsIssues(derived, { exists: () => true, isConfigured: () => true, hasPrice: () => true }),
      [],
    )
  })
})
