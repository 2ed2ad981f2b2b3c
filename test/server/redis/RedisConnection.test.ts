/** Shared limits and circuits while a private Redis stops, hangs and comes back. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Logger, Redacted, References } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { layerCircuitStore, layerRateLimits } from "../../../src/server/redis/SharedState.ts"
import { RateLimits } from "../../../src/services/access/RateLimits.ts"
import { RedisStatus } from "../../../src/services/lifecycle/RedisStatus.ts"
import { privateRedis, type PrivateRedis, redisCanCluster, redisCanStart } from "../../support/privateRedis.ts"
import { withinTurns } from "../../support/withinTurns.ts"

/** Much longer than a request may wait for Redis. */
const HUNG = Duration.seconds(5)
const SOON = Duration.seconds(20)

/** One process with shared state: its limits, its circuits, its report on Redis, and its warnings. */
const process = Effect.fnUntraced(function* (redis: Pick<PrivateRedis, "url">) {
  const warnings: Array<string> = []
  const logger = Logger.make((entry) => {
    if (entry.logLevel === "Warn") warnings.push(Logger.formatJson.log(entry))
  })
  const url = Redacted.make(redis.url)
  const context = yield* Layer.build(
    Layer.merge(layerRateLimits(url), layerCircuitStore(url)).pipe(Layer.provide(Logger.layer([logger]))),
  )
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(1),
    openDuration: "1 minute",
  }).pipe(Effect.provideContext(context))
  const limits = Context.get(context, RateLimits)
  return {
    warnings,
    take: (key: string) =>
      limits.take(key, 3).pipe(
        withinTurns(HUNG),
        Effect.map(({ remaining }) => remaining),
      ),
    call: <E>(key: string, outcome: Effect.Effect<string, E>) => withinTurns(HUNG)(breaker.execute(outcome, { key })),
    status: Effect.flatten(Effect.provideContext(RedisStatus, context)),
  }
})

/** Why the circuit refuses a call. */
const refused = (one: Effect.Success<ReturnType<typeof process>>, key: string) =>
  Effect.map(Effect.flip(one.call(key, Effect.succeed("never asked"))), (error) =>
    error._tag === "CircuitBreakerError" ? error.reason._tag : error._tag,
  )

const until = <E>(condition: Effect.Effect<boolean, E>) =>
  condition.pipe(
    Effect.tap((met) => (met ? Effect.void : Effect.sleep("50 millis"))),
    Effect.repeat({ until: (met) => met }),
    Effect.timeout(SOON),
  )

const isDown = (one: { readonly status: Effect.Effect<string> }) => until(Effect.map(one.status, (is) => is === "down"))
const isUp = (one: { readonly status: Effect.Effect<string> }) => until(Effect.map(one.status, (is) => is === "up"))

describe.runIf(redisCanStart)("a process that shares its limits in Redis", () => {
  it.live("limits on its own while Redis fails, logs that once, and shares again when it returns", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis()
      const [a, b] = [yield* process(redis), yield* process(redis)]
      assert.strictEqual(yield* a.take("x"), 2)
      assert.strictEqual(yield* b.take("x"), 1)
      assert.strictEqual(yield* a.take("x"), 0)
      const refused = yield* Effect.flip(b.take("x"))
      assert(refused._tag === "RateLimited")
      assert.isAbove(refused.retryAfterMs, 0)
      assert.strictEqual(yield* a.status, "up")

      yield* redis.stop
      for (const one of [a, b]) {
        assert.deepStrictEqual(yield* Effect.all([one.take("x"), one.take("x"), one.take("x")]), [2, 1, 0])
        for (let n = 0; n < 50; n++) assert.strictEqual((yield* Effect.flip(one.take("x")))._tag, "RateLimited")
        yield* isDown(one)
      }
      // Meanwhile it probes Redis without logging more.
      yield* Effect.sleep("3 seconds")
      for (const one of [a, b]) {
        assert.strictEqual(one.warnings.length, 1, one.warnings.join("\n"))
        assert.include(one.warnings[0], "Redis")
      }

      yield* redis.start
      yield* Effect.all([isUp(a), isUp(b)])
      assert.strictEqual(yield* a.take("y"), 2)
      assert.strictEqual(yield* b.take("y"), 1)
    }),
  )

  it.live("lets no request wait for a Redis that hangs", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis()
      const one = yield* process(redis)
      assert.strictEqual(yield* one.take("x"), 2)
      yield* redis.freeze
      assert.deepStrictEqual(yield* Effect.all([one.take("x"), one.take("x"), one.take("x")]), [2, 1, 0])
      assert.strictEqual((yield* Effect.flip(one.take("x")))._tag, "RateLimited")
      assert.strictEqual(yield* one.status, "down")
      const late = yield* process(redis)
      assert.strictEqual(yield* late.status, "down")
      assert.strictEqual(yield* late.take("x"), 2)
      yield* redis.thaw
      yield* Effect.all([isUp(one), isUp(late)])
      yield* one.take("y")
      assert.strictEqual(yield* late.take("y"), 1)
    }),
  )

  it.live("treats a Redis that refuses writes as down", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis()
      const one = yield* process(redis)
      assert.strictEqual(yield* redis.tell("CONFIG SET maxmemory 1"), "+OK\r\n")
      assert.deepStrictEqual(yield* Effect.all([one.take("x"), one.take("x"), one.take("x")]), [2, 1, 0])
      assert.strictEqual((yield* Effect.flip(one.take("x")))._tag, "RateLimited")
      yield* isDown(one)
      yield* until(Effect.sync(() => one.warnings.length > 0))
      assert.strictEqual(one.warnings.length, 1, one.warnings.join("\n"))
      assert.include(one.warnings[0], "OOM")
      yield* redis.tell("CONFIG SET maxmemory 0")
      yield* isUp(one)
    }),
  )

  it.live("treats a Redis that refuses scripts as down, and logs that once", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis()
      yield* redis.tell("ACL SETUSER limited on >pass ~* &* +@all -@scripting")
      const one = yield* process({ url: redis.url.replace("://", "://limited:pass@") })
      yield* until(Effect.sync(() => one.warnings.length > 0))
      assert.strictEqual(yield* one.status, "down")
      assert.deepStrictEqual(yield* Effect.all([one.take("x"), one.take("x"), one.take("x")]), [2, 1, 0])
      assert.strictEqual(one.warnings.length, 1, one.warnings.join("\n"))
      assert.include(one.warnings[0], "NOPERM")
      yield* redis.tell("ACL SETUSER limited +@scripting")
      yield* isUp(one)
    }),
  )

  it.live.runIf(redisCanCluster)("shares limits and circuits in a Redis in cluster mode", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis({ cluster: true })
      const [a, b] = [yield* process(redis), yield* process(redis)]
      yield* Effect.all([isUp(a), isUp(b)])
      assert.strictEqual(yield* a.take("x"), 2)
      assert.strictEqual(yield* b.take("x"), 1)
      yield* Effect.flip(a.call("shared", Effect.fail("down")))
      assert.strictEqual(yield* refused(b, "shared"), "CircuitOpen")
    }).pipe(Effect.provideService(References.UnhandledLogLevel, undefined)),
  )

  it.live("keeps its connection if it stalls itself while Redis answers", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis()
      const [one, other] = [yield* process(redis), yield* process(redis)]
      const stall = Effect.sync(() => {
        const until = performance.now() + 1500
        while (performance.now() < until);
      })
      yield* Effect.all([one.take("x"), other.take("x"), stall], { concurrency: "unbounded" })
      assert.strictEqual(yield* one.take("x"), 0)
      assert.deepStrictEqual([one.warnings, other.warnings], [[], []])
    }),
  )

  it.live("starts without Redis if that is down, and shares once it is up", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis({ started: false })
      const [a, b] = [yield* process(redis), yield* process(redis)]
      assert.strictEqual(yield* a.status, "down")
      assert.strictEqual(a.warnings.length, 1, a.warnings.join("\n"))
      assert.include(a.warnings[0], "ECONNREFUSED")
      assert.include(a.warnings[0], `"host":"${new URL(redis.url).host}"`)
      assert.strictEqual(yield* a.take("x"), 2)
      assert.strictEqual(yield* b.take("x"), 2)
      yield* redis.start
      yield* Effect.all([isUp(a), isUp(b)])
      yield* a.take("y")
      assert.strictEqual(yield* b.take("y"), 1)
    }),
  )

  it.live(
    "has its own circuits while Redis fails; when it returns, a circuit opened in one process is open in all",
    () =>
      Effect.gen(function* () {
        const redis = yield* privateRedis()
        const [a, b] = [yield* process(redis), yield* process(redis)]
        yield* Effect.flip(a.call("shared", Effect.fail("down")))
        assert.strictEqual(yield* refused(b, "shared"), "CircuitOpen")

        yield* redis.stop
        assert.strictEqual(yield* a.call("local", Effect.succeed("served")), "served")
        yield* Effect.flip(a.call("local", Effect.fail("down")))
        assert.strictEqual(yield* refused(a, "local"), "CircuitOpen")
        assert.strictEqual(yield* b.call("local", Effect.succeed("served")), "served")

        yield* redis.start
        yield* Effect.all([isUp(a), isUp(b)])
        yield* Effect.flip(b.call("again", Effect.fail("down")))
        assert.strictEqual(yield* refused(a, "again"), "CircuitOpen")
      }).pipe(Effect.provideService(References.UnhandledLogLevel, undefined)),
  )
})
