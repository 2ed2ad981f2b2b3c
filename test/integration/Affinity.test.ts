/** Conversations through a sealed proxy over sockets, with providers that cache by exact bytes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Message } from "../../src/client/index.ts"
import { cachingProvider } from "../support/CachingProvider.ts"
import { startProxy } from "../support/proxy.ts"

const CONVERSATIONS = 20
const TURNS = 8
const SLOTS = ["provider1", "provider2"] as const

/** A proxy with two slots, and conversations of which each slot's model has half. */
const conversing = Effect.fnUntraced(function* (streamed: boolean) {
  const providers = [yield* cachingProvider, yield* cachingProvider] as const
  const [first, second] = providers
  const proxy = yield* startProxy({
    settings: {
      provider1ApiKey: Redacted.make("k"),
      provider1BaseUrl: new URL(`${first.url}/v1`),
      provider1Model: "model-1",
      provider2ApiKey: Redacted.make("k"),
      provider2BaseUrl: new URL(`${second.url}/v1`),
      provider2Model: "model-2",
      retries: 0,
      circuitFailures: 1_000,
    },
  })
  const client = proxy.client()
  const ask = async (model: string, messages: ReadonlyArray<Message>) => {
    const input = { model, messages, temperature: 0.5, x_unknown: { b: 1, a: 2 } }
    if (!streamed) return client.complete(input)
    const stream = await client.stream(input)
    await stream.text()
    return stream.end
  }
  const conversations = Array.from({ length: CONVERSATIONS }, (_, i) => {
    const model = i % 2 === 0 ? "model-1" : "model-2"
    const home = SLOTS[i % 2] ?? ""
    const messages: Array<Message> = [
      { role: "system", content: "Be brief." },
      { role: "user", content: `"é\\u00e9" ${i}` },
    ]
    const served: Array<string | null> = []
    const takeTurn = async () => {
      const { completion, receipt } = await ask(model, messages)
      const answer = completion.choices[0]?.message
      if (answer !== undefined) messages.push(answer, { role: "user", content: `And ${served.length}?` })
      served.push(receipt.provider)
    }
    return { home, served, takeTurn }
  })
  const takeTurns = (count: number) =>
    Effect.promise(() =>
      Promise.all(
        conversations.map(async ({ takeTurn }) => {
          for (let turn = 0; turn < count; turn++) await takeTurn()
        }),
      ),
    )
  const counted = () => ({ found: first.found + second.found, missed: first.missed + second.missed })
  return { first, second, conversations, takeTurns, counted }
})

describe.each([false, true])("turns of conversations side by side (streamed: %s)", (streamed) => {
  it.live("all find what they begin with", () =>
    Effect.gen(function* () {
      const { conversations, counted, takeTurns } = yield* conversing(streamed)
      yield* takeTurns(TURNS)
      assert.deepStrictEqual(counted(), { found: CONVERSATIONS * (TURNS - 1), missed: 0 })
      for (const { home, served } of conversations) assert.deepStrictEqual(new Set(served), new Set([home]))
    }).pipe(Effect.scoped),
  )

  it.live("miss it once where a provider failed, also when it works again, and their receipts say so", () =>
    Effect.gen(function* () {
      const { conversations, counted, first, takeTurns } = yield* conversing(streamed)
      yield* takeTurns(3)
      // It fails in the middle of the fourth turn, for some of the conversations.
      first.failAfter(4)
      yield* takeTurns(1)
      first.failAfter(Infinity)
      yield* takeTurns(TURNS - 4)
      const moved = conversations.filter(({ home, served }) => served.at(-1) !== home)
      assert.lengthOf(moved, CONVERSATIONS / 2 - 4)
      for (const { home, served } of conversations) {
        const steps = served.map((provider) => provider === home)
        // At home until it moved, and elsewhere from then on.
        assert.deepStrictEqual(steps, steps.toSorted().toReversed())
      }
      assert.deepStrictEqual(counted(), { found: CONVERSATIONS * (TURNS - 1) - moved.length, missed: moved.length })
    }).pipe(Effect.scoped),
  )
})
