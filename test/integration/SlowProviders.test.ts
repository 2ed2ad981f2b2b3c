/** Slow providers behind a proxy with time limits from its environment. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { jsonOf } from "../support/sealing.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

const FIRST_TOKEN = Duration.millis(400)
const THINKS = { text: "at last", delivery: { firstChunkAfter: 1_500 } }

const setup = Effect.fnUntraced(function* (changes: Parameters<typeof sealedSetup>[0] = {}) {
  const sealed = yield* sealedSetup({ firstTokenTimeout: FIRST_TOKEN, circuitFailures: 1, ...changes })
  const answer = Effect.promise(async () => (await sealed.proxy.client().stream({ prompt: "Hi" })).text())
  const ready = Effect.promise(async () => {
    const response = await fetch(`${sealed.proxy.operatorUrl}/ready`)
    return [response.status, (await jsonOf(response))["status"]]
  })
  return { ...sealed, answer, ready }
})

describe("a provider that exceeds its time limit", () => {
  it.live("fails its request, and leaves circuit and proxy usable", () =>
    Effect.gen(function* () {
      const { answer, fake, ready } = yield* setup()
      fake.always(THINKS)
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* Effect.exit(answer))._tag, "Failure")
      assert.deepStrictEqual(yield* ready, [200, "ready"])
    }),
  )

  it.live("is awaited if its own limit is longer", () =>
    Effect.gen(function* () {
      const { answer, fake } = yield* setup({ failover: true, provider2FirstTokenTimeout: Duration.seconds(20) })
      fake.always(THINKS)
      assert.strictEqual(yield* answer, "at last")
      // On a busy machine the first one's limit may have passed before its request arrives.
      assert.strictEqual(fake.requests.at(-1)?.asked?.model, "model-2")
    }),
  )
})
