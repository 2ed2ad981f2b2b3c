/** A provider that completes jobs, but holds every critic until released. */
import { Effect } from "effect"
import { FakeUpstream, type Reply } from "../../support/FakeUpstream.ts"

/** Members by a word that only their prompts contain. */
const ROLES = [
  { name: "critic", told: "You examine an answer", says: '{"resolved":[],"objections":[]}' },
  { name: "judge", told: "You decide whether", says: '{"verdict":"sound","resolved":[],"confidence":0.9}' },
] as const

export const runJobProvider = Effect.gen(function* () {
  const fake = yield* FakeUpstream.make()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const answer: Reply = async ({ body }) => {
    const role = ROLES.find(({ told }) => JSON.stringify(body).includes(told))
    if (role?.name === "critic") await released
    return { text: role?.says ?? "An answer." }
  }
  // Closing waits for begun answers, even if a failed test never released them.
  yield* Effect.addFinalizer(() => Effect.sync(release))
  fake.always(answer)
  /** Calls in order of arrival, as task and member: `task-7 critic`. */
  const calls = () =>
    fake.requests.map(({ body }) => {
      const text = JSON.stringify(body)
      const role = ROLES.find(({ told }) => text.includes(told))?.name ?? "proposer"
      return `${/task-\d+/.exec(text)?.[0]} ${role}`
    })
  return { url: fake.openAi, calls, release, requests: () => fake.requests }
})
