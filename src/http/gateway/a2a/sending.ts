/** Messages of A2A clients: one without a task gives the agent a job, one with a task answers the job's question. */
import { Effect } from "effect"
import { isEnded } from "../../../domain/jobs/job.ts"
import type { PushConfig } from "../../../domain/jobs/pushConfig.ts"
import { InputNotRequired } from "../../../domain/jobs/question.ts"
import { isThreadId, ThreadBusy, ThreadNotFound } from "../../../domain/jobs/thread.ts"
import { Audit } from "../../../services/access/Audit.ts"
import { Jobs } from "../../../services/jobs/Jobs.ts"
import { Threads } from "../../../services/jobs/Threads.ts"
import { PushConfigs } from "../../../services/webhooks/PushConfigs.ts"
import { type A2aMessage, answerIn, executionOf, mayAnswer, type SendMessage } from "./messages.ts"
import { type AgentCaller, makeJobOf, needsRun } from "./caller.ts"
import { needsRoom, setPush } from "./push.ts"
import { RpcError } from "./rpcErrors.ts"
import { contextOf, messageIdOf } from "./tasks.ts"

export const makeSend = Effect.gen(function* () {
  const jobs = yield* Jobs
  const audit = yield* Audit
  const push = yield* PushConfigs
  const threads = yield* Threads
  const jobOf = makeJobOf(jobs)

  const answer = Effect.fnUntraced(function* (
    caller: AgentCaller,
    taskId: string,
    message: A2aMessage,
    config: PushConfig | undefined,
  ) {
    const job = yield* jobOf(caller, taskId)
    // Checked before the answer is taken: a refused client would not know that it was.
    if (config !== undefined) yield* needsRoom(push, job, config)
    const { contextId = "" } = message
    if (contextId !== "" && contextId !== contextOf(job)) {
      const mistake = "The task has another contextId; leave contextId out."
      return yield* new RpcError({ reason: "INVALID_PARAMS", message: mistake })
    }
    const { user } = caller
    const named = { key: message.messageId, body: message }
    // Looked up after the job was read. If an earlier message is taken in between, this one must not answer the next
    // question.
    const repeated = jobs.took(user.tenant, job.id, named)
    const now = jobs.get(user.tenant, job.id)
    if (yield* repeated) return yield* now
    if (isEnded(job.status)) {
      const ended = "The task has ended. Send the message without taskId: its contextId continues the conversation."
      return yield* new RpcError({ reason: "UNSUPPORTED_OPERATION", message: ended })
    }
    const { question } = job
    if (question === undefined || !mayAnswer(message, messageIdOf(job, question.step))) {
      return yield* new InputNotRequired()
    }
    const input = { answer: yield* answerIn(message, question), step: question.step }
    const answered = audit.noted(user, "job.input", jobs.input(user.tenant, job.id, input, named), ({ id }) => id)
    return yield* Effect.catchTag(
      answered,
      "InputNotRequired",
      Effect.fnUntraced(function* (refusal) {
        return (yield* repeated) ? yield* now : yield* refusal
      }),
    )
  })

  const begin = Effect.fnUntraced(
    function* ({ agent, user }: AgentCaller, message: A2aMessage) {
      const execution = yield* executionOf(message)
      const { thread_id } = execution
      const enqueue = jobs.enqueue(user.tenant, agent.id, execution, message.messageId, user.key)
      if (thread_id === undefined) return yield* enqueue
      // A database may refuse to compare with text that is no valid id.
      if (!isThreadId(thread_id)) return yield* new ThreadNotFound()
      // A repeated message, or one with a reused id, begins no thread.
      return yield* Effect.catchTag(enqueue, "ThreadNotFound", () =>
        Effect.andThen(threads.beginWith(user.tenant, agent.id, thread_id), enqueue),
      )
    },
    Effect.catchTags({
      ThreadNotFound: () =>
        new ThreadNotFound({ detail: "No task here has this contextId; leave it out to begin a conversation." }),
      ThreadBusy: () => new ThreadBusy({ detail: "If it asks a question, answer with its taskId." }),
    }),
  )

  return Effect.fnUntraced(function* (caller: AgentCaller, { configuration, message }: SendMessage) {
    yield* needsRun(caller)
    const config = configuration?.taskPushNotificationConfig ?? undefined
    // Checked before the job exists: a refused caller would not know of it.
    if (config !== undefined) yield* push.check(config)
    const { taskId = "" } = message
    const job = yield* taskId === "" ? begin(caller, message) : answer(caller, taskId, message, config)
    if (config !== undefined) yield* setPush(push, job, config)
    return job
  })
})
