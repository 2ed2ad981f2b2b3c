/** The proxy shares limits through Redis like the gateway, and works without it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { privateRedis, redisCanStart } from "../support/privateRedis.ts"
import { type RunningProxy, startProxy } from "../support/proxy.ts"
import { INIT, jsonOf } from "../support/sealing.ts"

const LIMIT = 3
const SOON = "20 seconds"

/** Returns the statuses of a number of requests for a session. */
const begin = ({ url }: RunningProxy, times: number) =>
  Effect.forEach(Array.from({ length: times }), () =>
    Effect.promise(async () => {
      const headers = { "content-type": "application/json" }
      const response = await fetch(`${url}/v1/init`, { method: "POST", headers, body: JSON.stringify(INIT) })
      await response.arrayBuffer()
      return response.status
    }),
  )

const ready = ({ operatorUrl }: RunningProxy) =>
  Effect.promise(async () => {
    const response = await fetch(`${operatorUrl}/ready`)
    return { status: response.status, redis: (await jsonOf(response))["redis"] }
  })

const becomes = (proxy: RunningProxy, redis: string) =>
  ready(proxy).pipe(
    Effect.tap((now) => (now.redis === redis ? Effect.void : Effect.sleep("50 millis"))),
    Effect.repeat({ until: (now) => now.redis === redis }),
    Effect.timeout(SOON),
  )

describe.runIf(redisCanStart)("proxies with one Redis", () => {
  it.live("share a caller's session limit, count separately without Redis, and share again", () =>
    Effect.gen(function* () {
      const redis = yield* privateRedis()
      const start = Effect.suspend(() =>
        startProxy({ settings: { redisUrl: Redacted.make(redis.url), rateLimitInit: LIMIT } }),
      )
      const [one, other] = [yield* start, yield* start]
      assert.deepStrictEqual(yield* ready(one), { status: 200, redis: "up" })
      assert.deepStrictEqual(yield* begin(one, 2), [200, 200])
      assert.deepStrictEqual(yield* begin(other, 2), [200, 429])

      yield* redis.stop
      for (const proxy of [one, other]) {
        assert.deepStrictEqual(yield* begin(proxy, 4), [200, 200, 200, 429])
        assert.deepStrictEqual(yield* becomes(proxy, "down"), { status: 200, redis: "down" })
      }

      yield* redis.start
      yield* Effect.all([becomes(one, "up"), becomes(other, "up")])
      assert.deepStrictEqual(yield* begin(one, 2), [200, 200])
      assert.deepStrictEqual(yield* begin(other, 2), [200, 429])
    }),
  )
})
