/** The methods of A2A that set where the notices of a task are pushed (A2A 1.0, §3.1.7 to §3.1.10). */
import { Effect, Schema } from "effect"
import type { Job } from "../../../domain/jobs/job.ts"
import { type KnownPushConfig, PushConfig, PushConfigId } from "../../../domain/jobs/pushConfig.ts"
import { MAX_PUSH_CONFIGS, PushConfigs } from "../../../services/webhooks/PushConfigs.ts"
import { type makeJobOf, type Method, needsRun } from "./caller.ts"
import { TaskId } from "./messages.ts"
import { RpcError } from "./rpcErrors.ts"
import { contextOf } from "./tasks.ts"

const OfTask = Schema.Struct({ taskId: TaskId })
const OneOfTask = Schema.Struct({ taskId: TaskId, id: PushConfigId })
const NewOne = Schema.Struct({ ...PushConfig.fields, taskId: TaskId })

const decodeTask = Schema.decodeUnknownEffect(OfTask, { errors: "all" })
const decodeOne = Schema.decodeUnknownEffect(OneOfTask, { errors: "all" })
const decodeNew = Schema.decodeUnknownEffect(NewOne, { errors: "all" })

/** The public form of a configuration, without its credentials. */
const shown = (task: string, { id, url }: KnownPushConfig) => ({ taskId: task, id, url })

export const needsRoom = Effect.fnUntraced(function* (push: PushConfigs["Service"], { id }: Job, config: PushConfig) {
  if (yield* push.hasRoom(id, config)) return
  const mistake = `A task has at most ${MAX_PUSH_CONFIGS} push notification configurations; delete one.`
  return yield* new RpcError({ reason: "INVALID_PARAMS", message: mistake })
})

export const setPush = Effect.fnUntraced(function* (push: PushConfigs["Service"], job: Job, config: PushConfig) {
  yield* needsRoom(push, job, config)
  return shown(job.id, yield* push.set({ id: job.id, context: contextOf(job) }, config))
})

export const makePushMethods = Effect.fnUntraced(function* (jobOf: ReturnType<typeof makeJobOf>) {
  const push = yield* PushConfigs

  const create: Method = Effect.fnUntraced(function* (caller, params) {
    yield* needsRun(caller)
    const { taskId, ...config } = yield* decodeNew(params)
    return { result: yield* setPush(push, yield* jobOf(caller, taskId), config) }
  })

  const get: Method = Effect.fnUntraced(function* (caller, params) {
    const { id, taskId } = yield* decodeOne(params)
    const job = yield* jobOf(caller, taskId)
    const found = (yield* push.list(job.id)).find((config) => config.id === id)
    if (found !== undefined) return { result: shown(job.id, found) }
    const missing = "The task has no such push notification configuration; it ends with its task."
    return yield* new RpcError({ reason: "TASK_NOT_FOUND", message: missing })
  })

  const list: Method = Effect.fnUntraced(function* (caller, params) {
    const job = yield* jobOf(caller, (yield* decodeTask(params)).taskId)
    const configs = yield* push.list(job.id)
    return { result: { configs: configs.map((config) => shown(job.id, config)), nextPageToken: "" } }
  })

  const remove: Method = Effect.fnUntraced(function* (caller, params) {
    yield* needsRun(caller)
    const { id, taskId } = yield* decodeOne(params)
    yield* push.remove((yield* jobOf(caller, taskId)).id, id)
    return { result: {} }
  })

  return [
    ["CreateTaskPushNotificationConfig", create],
    ["GetTaskPushNotificationConfig", get],
    ["ListTaskPushNotificationConfigs", list],
    ["DeleteTaskPushNotificationConfig", remove],
  ] as const
})
