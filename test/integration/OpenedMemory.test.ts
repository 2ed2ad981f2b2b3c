/** The memory of requests that wait for their provider, over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Layer } from "effect"
import { UpstreamError } from "../../src/domain/upstream/upstream.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"

const MIB = 1024 * 1024

/** A provider that refuses each request once the gate is open. */
const gated = Effect.map(Latch.make(), (gate) => {
  let entered = 0
  const refuse = Effect.suspend(() => {
    entered++
    return Effect.andThen(gate.await, Effect.fail(new UpstreamError({ code: "overloaded" })))
  })
  const layer = Layer.mock(Upstream)({ request: () => refuse, requestStreamTo: () => refuse })
  return { gate, layer, entered: () => entered }
})

const memory = { maxRequestBytes: 2 * MIB, maxBodyMemory: 5 * MIB }

describe("requests that wait for their provider", () => {
  it.live("share one memory bound, and release it once their provider has answered", () =>
    Effect.gen(function* () {
      const { entered, gate, layer } = yield* gated
      const proxy = yield* startProxy({ upstream: layer, settings: memory })
      const session = yield* Effect.promise(() => beginSession(proxy))
      const messages = [{ role: "user", content: "x".repeat(MIB) }]
      const send = Effect.promise(async () =>
        post(proxy, "/v1/completions", (await seal(session, { messages, stream: true })).body),
      )
      // One client may hold as much as is free: 1.4 MiB and 1.4 MiB of 5 MiB.
      const open = [yield* send, yield* send]
      while (entered() < 2) yield* Effect.sleep("1 millis")
      const refused = yield* send
      assert.deepStrictEqual(
        [...open, refused].map(({ status }) => status),
        [200, 200, 503],
      )
      assert.deepInclude(yield* Effect.promise(() => jsonOf(refused)), { code: "overloaded" })

      // An unread answer does not keep its request in memory.
      yield* gate.open
      for (let i = 0; i < 4; i++) {
        let answer = yield* send
        while (answer.status === 503) answer = yield* send
        assert.strictEqual(answer.status, 200)
      }
    }),
  )

  it.live("release their memory after every kind of refusal", () =>
    Effect.gen(function* () {
      const { layer } = yield* gated
      const proxy = yield* startProxy({ upstream: layer, settings: memory })
      const session = yield* Effect.promise(() => beginSession(proxy))
      // Malformed, unopenable and invalid requests release their memory.
      const { body } = yield* Effect.promise(() => seal(session, { content: "x".repeat(MIB) }))
      for (let i = 0; i < 10; i++) {
        for (const wrong of [
          { ...body, enc: "-" },
          { ...body, enc: body.enc.slice(0, -4) + "AAAA" },
        ]) {
          const { status } = yield* Effect.promise(() => post(proxy, "/v1/completions", wrong))
          assert.strictEqual(status, 400)
        }
        const invalid = yield* Effect.promise(async () =>
          post(proxy, "/v1/completions", (await seal(session, { content: "x".repeat(MIB) })).body),
        )
        assert.strictEqual(invalid.status, 200)
        yield* Effect.promise(() => invalid.text())
      }
    }),
  )
})
