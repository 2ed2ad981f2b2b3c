/** Messages of A2A clients: one without a task gives the agent a job, one with a task answers the job's question. */
import { Effect } from "effect"
import { AccessDenied, type Identity } from "../../../domain/access/identity.ts"
import { hasRole } from "../../../domain/access/roles.ts"
import type { Agent } from "../../../domain/jobs/agent.ts"
import { isEnded, JobNotFound } from "../../../domain/jobs/job.ts"
import { InputNotRequired } from "../../../domain/jobs/question.ts"
import { Audit } from "../../../services/access/Audit.ts"
import { Jobs } from "../../../services/jobs/Jobs.ts"
import { answerIn, executionOf, type Message, type SendMessage } from "./messages.ts"
import { RpcError } from "./rpcErrors.ts"
import { contextOf } from "./tasks.ts"

/** A caller of an agent. */
export interface Caller {
  readonly user: Identity
  readonly agent: Agent
}

export const NO_PUSH = new RpcError({
  reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  message: "The gateway sends no push notifications. Subscribe to the task, or give the agent a webhook_url.",
})

export const needsRun = ({ user }: Caller) => (hasRole(user, "run") ? Effect.void : AccessDenied.lacking("run"))

/** Returns a function that finds a task of the agent. */
export const makeJobOf = (jobs: Jobs["Service"]) =>
  Effect.fnUntraced(function* ({ agent, user }: Caller, id: string) {
    const job = yield* jobs.get(user.tenant, id)
    return job.agent_id === agent.id ? job : yield* new JobNotFound()
  })

/** Returns a function that begins or continues the job of a message. */
export const makeSend = Effect.gen(function* () {
  const jobs = yield* Jobs
  const audit = yield* Audit
  const jobOf = makeJobOf(jobs)

  const answer = Effect.fnUntraced(function* (caller: Caller, taskId: string, message: Message) {
    const job = yield* jobOf(caller, taskId)
    const { contextId = "" } = message
    if (contextId !== "" && contextId !== contextOf(job)) {
      const mistake = "The task has another contextId; leave contextId out."
      return yield* new RpcError({ reason: "INVALID_PARAMS", message: mistake })
    }
    if (isEnded(job.status)) {
      const ended = "The task has ended. Send the message without taskId to begin another."
      return yield* new RpcError({ reason: "UNSUPPORTED_OPERATION", message: ended })
    }
    if (job.question === undefined) return yield* new InputNotRequired()
    const input = { answer: yield* answerIn(message, job.question), step: job.question.step }
    const after = yield* jobs.input(caller.user.tenant, job.id, input)
    yield* audit.note(caller.user, "job.input", job.id)
    return after
  })

  return Effect.fnUntraced(function* (caller: Caller, { configuration, message }: SendMessage) {
    yield* needsRun(caller)
    if (configuration?.taskPushNotificationConfig != null) return yield* NO_PUSH
    const { taskId = "" } = message
    if (taskId !== "") return yield* answer(caller, taskId, message)
    const request = yield* executionOf(message)
    return yield* jobs.enqueue(caller.user.tenant, caller.agent.id, request, message.messageId, caller.user.key)
  })
})
