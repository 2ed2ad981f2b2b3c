/** A provider that answers when it is let, with as many tokens as it may, and keeps its bill. */
import { Effect } from "effect"
import { FakeUpstream } from "../../support/FakeUpstream.ts"

/** The price of a token of output, in micro-USD; input is free. */
export const PRICE = 1

export const runBudgetProvider = Effect.gen(function* () {
  const fake = yield* FakeUpstream.make()
  const held: Array<() => void> = []
  let permits = 0
  let billed = 0
  const release = (count: number) => {
    permits += count
    while (permits > 0 && held.length > 0) {
      permits--
      held.shift()?.()
    }
  }
  // Closing waits for begun answers.
  yield* Effect.addFinalizer(() => Effect.sync(() => release(Infinity)))
  fake.always(async ({ body }) => {
    // The fake answers only requests of the vendor's shape.
    const asked = body as Readonly<Record<string, unknown>>
    const limit = Number(asked["max_completion_tokens"] ?? asked["max_tokens"])
    // A vendor bills a call that it takes, also if nobody waits for the answer any more.
    billed += limit * PRICE
    await new Promise<void>((resolve) => {
      held.push(resolve)
      release(0)
    })
    return { text: "443", usage: { input: 1, output: limit } }
  })
  return {
    url: fake.openAi,
    /** Lets so many calls be answered, present or future. */
    release,
    /** The sum of all calls, in micro-USD. */
    bill: () => billed,
    calls: () => fake.requests.length,
    /** How many calls of a process are under way. */
    underWay: (key: string) =>
      fake.requests.filter(({ asked, ending }) => asked?.key === key && ending === undefined).length,
  }
})
