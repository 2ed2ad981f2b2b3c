/** The methods of A2A over jobs, each under the limits of its caller. */
import { Effect, Option, Schema, Stream } from "effect"
import { isEnded, type Job } from "../../../domain/jobs/job.ts"
import type { JobEvent } from "../../../domain/jobs/jobEvents.ts"
import { Jobs } from "../../../services/jobs/Jobs.ts"
import { Drain } from "../../../services/lifecycle/Drain.ts"
import { makeCancelJob } from "../cancelJob.ts"
import { makeWaitingPlace } from "../waitingPlace.ts"
import { makeWhileAllowed } from "../whileAllowed.ts"
import { type AgentCaller, makeJobOf, type Method, type MethodResult, needsRun } from "./caller.ts"
import { makeListMethod } from "./listing.ts"
import { SendMessage, TaskParams } from "./messages.ts"
import { makePushMethods } from "./push.ts"
import { RpcError } from "./rpcErrors.ts"
import { makeSend } from "./sending.ts"
import { NO_PROGRESS, taskOf, updatesOf } from "./tasks.ts"

const decodeSend = Schema.decodeUnknownEffect(SendMessage, { errors: "all" })
const decodeTask = Schema.decodeUnknownEffect(TaskParams, { errors: "all" })

/** Whether a stream ends with this event: the job ended, or asks something that its client has not seen. */
const isLast =
  (known?: string) =>
  (event: JobEvent): boolean =>
    event._tag === "Ended" || (event._tag === "InputRequired" && event.job.question?.step !== known)

/** Returns functions that follow a job: `settled` waits for its end or its question, or until a shutdown begins. */
const makeFollowing = Effect.gen(function* () {
  const jobs = yield* Jobs
  const drain = yield* Drain
  const whileAllowed = yield* makeWhileAllowed

  const settled = Effect.fnUntraced(function* ({ user }: AgentCaller, { id }: Job) {
    const last = yield* jobs
      .events(user.tenant, id)
      .pipe(
        Stream.filter(isLast()),
        Stream.runHead,
        Effect.raceFirst(Effect.as(drain.begun, Option.none<JobEvent>())),
        whileAllowed.answer(user),
      )
    return Option.isSome(last) && "job" in last.value ? last.value.job : yield* jobs.get(user.tenant, id)
  })

  const followed = ({ user }: AgentCaller, job: Job): MethodResult => ({
    results: jobs.events(user.tenant, job.id).pipe(
      Stream.takeUntil(isLast(job.question?.step)),
      Stream.mapAccum(
        () => NO_PROGRESS,
        (progress, event) => updatesOf(job, progress, event),
      ),
      (updates) => Stream.concat(Stream.succeed({ task: taskOf(job) }), updates),
      whileAllowed.stream(user),
    ),
  })

  return { settled, followed }
})

const extendedCard: Method = () =>
  new RpcError({ reason: "UNSUPPORTED_OPERATION", message: "The card at the well-known path is complete." })

export const makeMethods = Effect.gen(function* () {
  const jobs = yield* Jobs
  const cancel = yield* makeCancelJob
  const place = yield* makeWaitingPlace
  const send = yield* makeSend
  const { followed, settled } = yield* makeFollowing
  const jobOf = makeJobOf(jobs)

  const asked = Effect.fnUntraced(function* (caller: AgentCaller, params: unknown) {
    return yield* jobOf(caller, (yield* decodeTask(params)).id)
  })

  const sendMessage: Method = Effect.fnUntraced(function* (caller, params) {
    const message = yield* decodeSend(params)
    const waits = message.configuration?.returnImmediately !== true
    // Checked before the job exists: a refused caller would send the task again, and pay again.
    if (waits) yield* place(caller.user.tenant)
    const job = yield* send(caller, message)
    if (!waits || isEnded(job.status)) return { result: { task: taskOf(job) } }
    return { later: Effect.map(settled(caller, job), (last) => ({ task: taskOf(last) })) }
  })

  const sendStreamingMessage: Method = Effect.fnUntraced(function* (caller, params) {
    const message = yield* decodeSend(params)
    yield* place(caller.user.tenant)
    return followed(caller, yield* send(caller, message))
  })

  const getTask: Method = (caller, params) => Effect.map(asked(caller, params), (job) => ({ result: taskOf(job) }))

  const cancelTask: Method = Effect.fnUntraced(function* (caller, params) {
    yield* needsRun(caller)
    const job = yield* cancel(caller.user, (yield* asked(caller, params)).id)
    if (job.status === "cancelled") return { result: taskOf(job) }
    return yield* new RpcError({ reason: "TASK_NOT_CANCELABLE", message: "The task ended before; read it." })
  })

  const subscribeToTask: Method = Effect.fnUntraced(function* (caller, params) {
    const job = yield* asked(caller, params)
    if (isEnded(job.status)) {
      return yield* new RpcError({ reason: "UNSUPPORTED_OPERATION", message: "The task has ended; read it." })
    }
    yield* place(caller.user.tenant)
    return followed(caller, job)
  })

  return new Map<string, Method>([
    ["SendMessage", sendMessage],
    ["SendStreamingMessage", sendStreamingMessage],
    ["GetTask", getTask],
    ["ListTasks", makeListMethod(jobs, jobOf)],
    ["CancelTask", cancelTask],
    ["SubscribeToTask", subscribeToTask],
    ...(yield* makePushMethods(jobOf)),
    ["GetExtendedAgentCard", extendedCard],
  ])
})
