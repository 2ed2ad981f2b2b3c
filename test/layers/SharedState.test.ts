/** What several processes share through Redis, on a real one; says so when there is none. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { layerCircuitStore, layerRateLimits } from "../../src/layers/SharedState.ts"
import { RateLimits } from "../../src/services/access/RateLimits.ts"

const URL = process.env["TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379"

const reachable = await new Promise<boolean>((resolve) => {
  const { hostname, port } = new globalThis.URL(URL)
  const socket = connect({ host: hostname, port: Number(port || 6379) })
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
  socket.unref()
})
if (!reachable) console.warn(`skipped: no Redis at ${URL}, so nothing shared was tested`)

const redis = Redacted.make(URL)
const unique = (name: string) => `${name}-${process.pid}-${performance.now()}`

/** One gateway or proxy of several: its own connection, the same Redis. */
const inProcess = <A, E>(use: Effect.Effect<A, E, RateLimits>) => Effect.provide(use, layerRateLimits(redis))

describe.runIf(reachable)("with Redis", () => {
  it.live("processes count a caller's requests together", () =>
    Effect.gen(function* () {
      const key = unique("caller")
      const take = Effect.flatMap(RateLimits, (limits) => limits.take(key, 3))
      const first = yield* inProcess(Effect.all([take, take]))
      assert.deepStrictEqual(
        first.map(({ remaining }) => remaining),
        [2, 1],
      )
      const rest = yield* inProcess(Effect.all([Effect.exit(take), Effect.flip(take)]))
      assert.strictEqual(rest[0]._tag, "Success")
      assert.strictEqual(rest[1]._tag, "RateLimited")
      assert.isAbove(rest[1].retryAfterMs, 0)
    }),
  )

  it.live("a circuit that one process opened is open for the others", () =>
    Effect.gen(function* () {
      const key = unique("target")
      const breaker = CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "30 seconds" })
      const call = (outcome: Effect.Effect<string, string>) =>
        Effect.flatMap(breaker, ({ execute }) => execute(outcome, { key })).pipe(
          Effect.scoped,
          Effect.provide(layerCircuitStore(redis)),
          Effect.flip,
        )
      assert.strictEqual(yield* call(Effect.fail("down")), "down")
      const refused = yield* call(Effect.succeed("never asked"))
      assert.isTrue(typeof refused !== "string" && "reason" in refused && refused.reason._tag === "CircuitOpen")
    }),
  )
})
