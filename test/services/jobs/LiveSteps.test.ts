/** Followers of a job see its steps begin in any process; without followers nothing is sent. */
import { assert, it } from "@effect/vitest"
import { Context, DateTime, Effect, Fiber, Layer, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { JobId } from "../../../src/domain/jobs/job.ts"
import type { JobStepBegun } from "../../../src/domain/jobs/jobEvents.ts"
import { changed, JobSignals } from "../../../src/services/jobs/JobSignals.ts"
import { layerLiveSteps, LiveSteps } from "../../../src/services/jobs/LiveSteps.ts"
import { describeDatabases } from "../../support/databases.ts"
import { start } from "../../support/jobs.ts"

const stepOf = (name: string): JobStepBegun => ({
  name,
  kind: "critique",
  round: 1,
  provider: "provider1",
  // Longer than what is sent to other processes at once.
  model: "m".repeat(5000),
  started_at: DateTime.makeUnsafe(0),
})

describeDatabases("steps as they begin", (database) => {
  const setup = Effect.gen(function* () {
    const layer = Layer.provideMerge(layerLiveSteps, yield* database.create)
    const started = Effect.map(start(layer), ({ context }) => ({
      signals: Context.get(context, JobSignals),
      steps: Context.get(context, LiveSteps),
    }))
    const worker = yield* started
    // On the embedded database there is only one process.
    const other = database.kind === "sqlite" ? worker : yield* started
    const job = JobId.make(SecureRandom.uuidV7Unsafe())
    const stranger = JobId.make(SecureRandom.uuidV7Unsafe())
    // Other tests' processes send on the channel of the same database.
    const isOurs = (topic: string) => topic.includes(job) || topic.includes(stranger)
    const topics: Array<string> = []
    yield* other.signals.listen((topic) => {
      if (isOurs(topic)) topics.push(topic.split(":")[0] ?? "")
    })
    // Signals get through as soon as both processes listen.
    for (const [from, to] of [
      [worker, other],
      [other, worker],
    ] as const) {
      let heard = false
      yield* to.signals.listen((topic) => {
        if (isOurs(topic)) heard = true
      })
      yield* from.signals.publish(changed(job)).pipe(Effect.delay("10 millis"), Effect.repeat({ until: () => heard }))
    }
    return {
      begin: (job: JobId, name: string, hasText?: boolean) =>
        Effect.map(worker.steps.begin(job, stepOf(name), hasText), ({ end }) => end),
      /** Running steps are announced repeatedly; returns each once. */
      follow: (job: JobId, count: number) => {
        const seen = new Set<string>()
        return other.steps.follow(job).pipe(
          Stream.flatMap((event) => (event._tag === "Begun" ? Stream.succeed(event) : Stream.empty)),
          Stream.filter(({ step }) => seen.size < seen.add(step.name).size),
          Stream.take(count),
          Stream.runCollect,
        )
      },
      topics,
      job,
      stranger,
    }
  })

  it.live("reach later followers while they are running", () =>
    Effect.gen(function* () {
      const { begin, follow, job, stranger, topics } = yield* setup
      yield* begin(stranger, "other job")
      const end = yield* begin(job, "over")
      end()
      yield* begin(job, "one")
      yield* begin(job, "two", true)
      assert.notInclude(topics, "begun")
      const following = yield* Effect.forkChild(follow(job, 3))
      const first = yield* follow(job, 2)
      yield* begin(job, "three")
      const all = yield* Fiber.join(following)
      assert.deepStrictEqual(
        first.map(({ hasText, step }) => [step.name, hasText]),
        [
          ["one", false],
          ["two", true],
        ],
      )
      assert.deepStrictEqual(
        all.map(({ step }) => step),
        ["one", "two", "three"].map(stepOf),
      )
    }),
  )
})
