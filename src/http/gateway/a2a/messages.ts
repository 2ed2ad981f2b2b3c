/** Messages of A2A clients, which begin a task or answer its question. */
import { Effect, Schema } from "effect"
import { type ExecuteRequest, IdempotencyKey } from "../../../domain/jobs/job.ts"
import { PushConfig } from "../../../domain/jobs/pushConfig.ts"
import type { JobQuestion } from "../../../domain/jobs/question.ts"
import { isObject, parseJson } from "../../../domain/json/json.ts"
import { RpcError } from "./rpcErrors.ts"

const MAX_PARTS = 256
const MAX_TASK_ID = 64

/** ProtoJSON writes absent texts as empty ones. Unknown members are ignored (A2A 1.0, §5.7). */
const Part = Schema.Struct({
  text: Schema.optionalKey(Schema.String),
  data: Schema.optionalKey(Schema.Unknown),
  raw: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
})
type Part = typeof Part.Type

export const TaskId = Schema.String.check(Schema.isMaxLength(MAX_TASK_ID))

/** Names the message that this one answers. A2A has no member for it. */
const IN_REPLY_TO = "sealgate/in-reply-to"

const A2aMessage = Schema.Struct({
  messageId: IdempotencyKey,
  role: Schema.Literal("ROLE_USER"),
  parts: Schema.Array(Part).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_PARTS)),
  taskId: Schema.optionalKey(TaskId),
  contextId: Schema.optionalKey(TaskId),
  metadata: Schema.optionalKey(Schema.NullOr(Schema.Struct({ [IN_REPLY_TO]: Schema.optionalKey(Schema.String) }))),
})
export type A2aMessage = typeof A2aMessage.Type

export const SendMessage = Schema.Struct({
  message: A2aMessage,
  configuration: Schema.optionalKey(
    Schema.Struct({
      returnImmediately: Schema.optionalKey(Schema.Boolean),
      taskPushNotificationConfig: Schema.optionalKey(Schema.NullOr(PushConfig)),
    }),
  ),
})
export type SendMessage = typeof SendMessage.Type

export const TaskParams = Schema.Struct({ id: TaskId })

const textOf = (part: Part): Effect.Effect<string, RpcError> => {
  if (part.text !== undefined) return Effect.succeed(part.text)
  if (part.data !== undefined) return Effect.succeed(JSON.stringify(part.data))
  return part.raw === undefined && part.url === undefined
    ? new RpcError({ reason: "INVALID_PARAMS", message: "Give every part a text or data." })
    : new RpcError({
        reason: "CONTENT_TYPE_NOT_SUPPORTED",
        message: "Agents read text and data. Send the content of a file as text.",
      })
}

const textIn = ({ parts }: A2aMessage) =>
  Effect.map(Effect.forEach(parts, textOf), (texts) => texts.filter((text) => text !== "").join("\n\n"))

/** The execution that a message asks for. Its context is the job's thread. */
export const executionOf = Effect.fnUntraced(function* (message: A2aMessage) {
  const task = yield* textIn(message)
  if (task === "")
    return yield* new RpcError({
      reason: "INVALID_PARAMS",
      message: "Give the message a text: it is the agent's task.",
    })
  const { contextId = "" } = message
  const request: ExecuteRequest = contextId === "" ? { task } : { task, thread_id: contextId }
  return request
})

/** Whether a message may answer the message with this id: it names that one, or none. */
export const mayAnswer = ({ metadata }: A2aMessage, messageId: string): boolean =>
  (metadata?.[IN_REPLY_TO] ?? messageId) === messageId

/** The only member of an answer, if the question wants one text. */
const onlyText = ({ answer_schema: { properties } }: JobQuestion): string | undefined => {
  const [member, ...more] = isObject(properties) ? Object.entries(properties) : []
  return member !== undefined && more.length === 0 && isObject(member[1]) && member[1]["type"] === "string"
    ? member[0]
    : undefined
}

/** A message's answer to a question: its data, the JSON in its text, or its text as the only member asked for. */
export const answerIn = Effect.fnUntraced(function* (message: A2aMessage, question: JobQuestion) {
  const data = message.parts.find((part) => part.data !== undefined)?.data
  if (data !== undefined) return data
  const text = yield* textIn(message)
  const value = parseJson(text)
  if (isObject(value)) return value
  const member = onlyText(question)
  if (member !== undefined) return { [member]: text }
  return yield* new RpcError({
    reason: "INVALID_PARAMS",
    message: `Answer with a data part, or JSON as text, that fits ${JSON.stringify(question.answer_schema)}.`,
  })
})
