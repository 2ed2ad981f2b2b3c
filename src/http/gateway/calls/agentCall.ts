/** Answers chats whose model is an agent: the agent's mode runs as a job, and its answer is that of a model. */
import { Duration, Effect, Record, Result, Schema, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { RequestInvalid } from "../../../api/gateway/Authorization.ts"
import { JobCancelled } from "../../../api/gateway/CallsApi.ts"
import type { Identity } from "../../../domain/access/identity.ts"
import { IdempotencyKey, isEnded, type Job } from "../../../domain/jobs/job.ts"
import { jsonFault } from "../../../domain/json/iJson.ts"
import type { JsonObject } from "../../../domain/json/json.ts"
import { CHAT_COMPLETIONS } from "../../../domain/upstream/apis.ts"
import type { ApiQuestion } from "../../../services/sealing/apiRequest.ts"
import { Draining } from "../../../api/problems.ts"
import { GATEWAY_JSON_LIMITS } from "../GatewayLimits.ts"
import { makeAgentTasks } from "../agentTasks.ts"
import { labelsIn } from "./callLabels.ts"
import { streamedAnswer, streamFormOf, wholeAnswer } from "./answers.ts"
import { JobFailed } from "./vendorErrors.ts"

const PREFIX = "agent:"

/** The agent that a model's name means; `undefined` if it means none. */
export const agentIn = (model: string): string | undefined =>
  model.startsWith(PREFIX) ? model.slice(PREFIX.length) : undefined

const JOB_HEADER = "sealgate-job"

/** Longer than clients wait. */
const PATIENCE = Duration.days(7)

const invalid = (path: string, message: string) => new RequestInvalid({ errors: [{ path, message }] })

/** The chat of a request, which must be one that an agent can answer. */
const chatOf = Effect.fnUntraced(function* ({ body, completion, api }: ApiQuestion) {
  if (api !== CHAT_COMPLETIONS || completion === undefined) {
    return yield* invalid("model", "agents answer at /v1/chat/completions only")
  }
  const fault = jsonFault(body.text, GATEWAY_JSON_LIMITS)
  if (fault !== undefined) return yield* new RequestInvalid({ detail: fault })
  const chat = completion()
  if (Result.isFailure(chat)) return yield* new RequestInvalid({ errors: chat.failure })
  const { n, tools } = chat.success
  if (tools != null && tools.length > 0) return yield* invalid("tools", "agents take no tools")
  if ((n ?? 1) !== 1) return yield* invalid("n", "an agent gives one answer")
  return chat.success
})

const decodeKey = Schema.decodeUnknownEffect(IdempotencyKey)

/** The caller's name for the request, if it gave one. */
const idempotencyKeyOf = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  const key = headers["idempotency-key"]
  return key === undefined
    ? Effect.undefined
    : Effect.mapError(decodeKey(key), ({ message }) => invalid("headers.idempotency-key", message))
}

/** The members that whole answers and chunks share. */
const headOf = ({ created_at, id }: Job, model: string) => ({
  id: `chatcmpl-${id}`,
  created: Math.floor(created_at.epochMilliseconds / 1000),
  model,
})

const usageOf = ({ usage: { cached_tokens, input_tokens, output_tokens } }: Job) => ({
  prompt_tokens: input_tokens,
  completion_tokens: output_tokens,
  total_tokens: input_tokens + output_tokens,
  prompt_tokens_details: { cached_tokens },
})

const answerOf = ({ problem, result }: Job): Effect.Effect<string, JobFailed | JobCancelled> => {
  if (result !== undefined) return Effect.succeed(result.answer)
  return Effect.fail(problem === undefined ? new JobCancelled() : new JobFailed({ problem }))
}

const completionOf = (job: Job, model: string, content: string): JsonObject => ({
  ...headOf(job, model),
  object: "chat.completion",
  choices: [
    { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" },
  ],
  usage: usageOf(job),
})

const chunkOf = (job: Job, model: string, delta: object, finish_reason: "stop" | null = null): JsonObject => ({
  ...headOf(job, model),
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
})

/** Returns a function that gives a chat to an agent as a job, and answers with the job's answer. */
export const makeAgentCall = Effect.gen(function* () {
  const tasks = yield* makeAgentTasks

  /**
   * The job once it has ended. A shutdown does not wait for it: another process continues it, or this one after its
   * restart.
   */
  const ended = Effect.fnUntraced(function* (user: Identity, given: Job) {
    const job = yield* tasks.waited(user, given, PATIENCE)
    return isEnded(job.status) ? job : yield* new Draining()
  })

  return Effect.fnUntraced(function* (
    user: Identity,
    agent: string,
    question: ApiQuestion,
    isStream: boolean,
    request: HttpServerRequest.HttpServerRequest,
  ) {
    const { body, model = "" } = question
    const { messages } = yield* chatOf(question)
    const metadata = labelsIn(body)
    const job = yield* tasks.give(user, {
      agent,
      request: { messages, ...(Record.isEmptyRecord(metadata) ? {} : { metadata }) },
      key: yield* idempotencyKeyOf(request),
      waits: true,
    })
    const finished = Effect.flatMap(ended(user, job), (job) =>
      Effect.map(answerOf(job), (text) => [job, text] as const),
    )
    const withJob = HttpServerResponse.setHeader(JOB_HEADER, job.id)
    if (!isStream) {
      const [done, text] = yield* finished
      return withJob(wholeAnswer(JSON.stringify(completionOf(done, model, text))))
    }
    const rest = Stream.unwrap(
      Effect.map(finished, ([done, content]) =>
        Stream.make(chunkOf(done, model, { content }), chunkOf(done, model, {}, "stop"), {
          ...chunkOf(done, model, {}),
          choices: [],
          usage: usageOf(done),
        }),
      ),
    )
    const pieces = Stream.concat(Stream.succeed(chunkOf(job, model, { role: "assistant", content: "" })), rest)
    return withJob(yield* streamedAnswer(streamFormOf({ api: question.api, body }), pieces))
  })
})
