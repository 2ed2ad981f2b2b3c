/**
 * A provider whose streams send a few words and then wait for the test, so that requests in flight do not depend on time.
 * The prompt selects how a stream continues.
 */
import { Effect } from "effect"
import { FakeUpstream, fault, type Reply } from "../../support/FakeUpstream.ts"

/**
 * - `finishes`: on release sends the rest and ends
 * - `hangs`: sends nothing more
 * - `floods`: sends `FLOOD_WORDS` long words at once, then hangs
 * - `silent`: never answers
 */
export type Manner = "finishes" | "hangs" | "floods" | "silent"

export const OPENING = "one two "
export const REST = "three four"
/** Chunks of a flood, and characters of each. */
export const FLOOD_WORDS = 400
export const FLOOD_LENGTH = 4096

export interface HeldProvider {
  readonly url: string
  /** Calls in flight. */
  readonly open: () => number
  readonly release: () => void
}

/** Sends these chunks, then nothing more. */
const hanging = (...text: ReadonlyArray<string>): Reply => ({
  text,
  delivery: { breaks: { after: text.length, how: "silence" } },
})

export const runHeldProvider = Effect.gen(function* () {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const fake = yield* FakeUpstream.make()
  const manners: Readonly<Record<Manner, Reply>> = {
    finishes: { text: [OPENING, REST], delivery: { gap: released } },
    hangs: hanging(OPENING),
    floods: hanging(OPENING, ...Array.from({ length: FLOOD_WORDS }, () => "x".repeat(FLOOD_LENGTH))),
    silent: fault.silence,
  }
  // Prompts are the names of manners.
  fake.always(({ text }) => manners[text as Manner])
  const open = () => fake.requests.filter(({ ending }) => ending === undefined).length
  return { url: fake.openAi, open, release } satisfies HeldProvider
})
