/** A provider that echoes the last message after a moment, and counts each prompt. */
import { Effect } from "effect"
import { FakeUpstream } from "../../support/FakeUpstream.ts"

/** A prompt that is answered only after `release`. */
export const HOLD = "hold this"

/** Long enough that requests are in flight whenever a proxy is killed. */
const THINKING_MS = 10

/** Runs until the scope closes. */
export const runProvider = Effect.gen(function* () {
  const fake = yield* FakeUpstream.make()
  const asked = new Map<string, number>()
  const holding = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  // Closing waits for begun answers.
  yield* Effect.addFinalizer(() => Effect.sync(released.resolve))
  fake.always(async ({ text }) => {
    asked.set(text, (asked.get(text) ?? 0) + 1)
    if (text === HOLD) {
      holding.resolve()
      await released.promise
    }
    return { text, delivery: { headersAfter: THINKING_MS } }
  })
  return { url: fake.openAi, asked, holding: holding.promise, release: released.resolve }
})
