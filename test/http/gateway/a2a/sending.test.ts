/** Messages over A2A that arrive together. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { IdempotencyKey } from "../../../../src/domain/jobs/job.ts"
import { makeSend } from "../../../../src/http/gateway/a2a/sending.ts"
import { Audit } from "../../../../src/services/access/Audit.ts"
import { Jobs } from "../../../../src/services/jobs/Jobs.ts"
import { Threads } from "../../../../src/services/jobs/Threads.ts"
import { PushConfigs } from "../../../../src/services/webhooks/PushConfigs.ts"
import { ToolOutput } from "../../../../src/services/tools/ToolOutput.ts"
import { describeDatabases } from "../../../support/databases.ts"
import { answer, enqueueOne, gateway, type Program } from "../../../support/jobs.ts"

/** Asks a person twice. */
const asksTwice: Program = ({ ask, step }) =>
  Effect.gen(function* () {
    for (const call of [1, 2]) {
      const asking = { kind: "ask", call, turn: 1 }
      const question = { asking, question: `Question ${call}?`, answer_schema: {}, timeoutSeconds: 3600 }
      yield* step(asking, ToolOutput, ask(question))
    }
    return answer("done")
  })

describeDatabases("an answer over A2A", (database) => {
  it.live("that is repeated while it is being taken returns the task as it is afterwards", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, job, tenant } = yield* enqueueOne()
      const asked = (text: string) =>
        Effect.repeat(jobs.get(tenant, job.id), { until: ({ question }) => question?.question === text })
      yield* asked("Question 1?")
      const message = {
        messageId: IdempotencyKey.make("m-1"),
        role: "ROLE_USER" as const,
        parts: [{ data: { go: "on" } }],
        taskId: job.id,
      }
      // The first request takes the answer between the two reads of the second.
      const takenMeanwhile = jobs
        .input(tenant, job.id, { answer: { go: "on" } }, { key: "m-1", body: message })
        .pipe(Effect.andThen(asked("Question 2?")), Effect.orDie)
      const send = yield* Effect.provideService(makeSend, Jobs, {
        ...jobs,
        took: (...named) => Effect.andThen(takenMeanwhile, jobs.took(...named)),
      })
      const repeated = yield* send({ user: { subject: "alice", tenant }, agent }, { message })
      assert.strictEqual(repeated.question?.question, "Question 2?")
    }).pipe(
      Effect.provide(
        Layer.mergeAll(Audit.layer, PushConfigs.layer, Threads.layer).pipe(
          Layer.provideMerge(gateway(database.layer, asksTwice)),
        ),
      ),
    ),
  )
})
