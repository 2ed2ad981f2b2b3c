/** The APIs of model vendors, for their own SDKs: requests and answers have the vendors' forms, errors too. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequestUnbounded } from "../../domain/access/budgets.ts"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { IdempotencyInFlight, IdempotencyMismatch } from "../../domain/jobs/job.ts"
import { Refusal } from "../../domain/problems/refusal.ts"
import { BODY_PROBLEMS, NotFound } from "../problems.ts"
import { NeededRole, RateClass } from "./Authorization.ts"
import { described } from "../described.ts"

export class ModelNotFound extends Refusal<ModelNotFound>()("ModelNotFound", {
  code: "unknown-model",
  status: 404,
  title: "There is no such model for this key; GET /v1/models lists the models.",
}) {}

/** Too many requests wait for models. */
export class Overloaded extends Refusal<Overloaded>()("Overloaded", {
  code: "overloaded",
  status: 503,
  title: "The gateway holds as many requests as it can.",
  detail: "Each is in memory until it is answered; try again later.",
}) {}

export class JobCancelled extends Refusal<JobCancelled>()("JobCancelled", {
  code: "job-cancelled",
  status: 409,
  title: "The job was cancelled before it had an answer.",
}) {}

const bodyOf = (what: string) => Schema.Unknown.annotate({ description: `${what}, passed on as it was sent.` })

const StreamedEvent = Schema.Struct({
  id: Schema.optionalKey(Schema.UndefinedOr(Schema.String)),
  event: Schema.String.annotate({ description: "Absent in streams of Chat Completions." }),
  data: Schema.String.annotate({ description: "JSON of the vendor's API." }),
})

const error = [...BODY_PROBLEMS, RequestUnbounded, Overloaded]

const AGENTS =
  "`agent:NAME` gives the conversation to that agent as a job, whose id is in the header `sealgate-job`; hanging up does not end it. `Idempotency-Key` repeats it safely."

const MODEL =
  "`model` is a target's model, `provider/model`, or a name of the routing configuration. Errors have the vendor's form."

const call = <const Name extends string, const Path extends `/${string}`>(name: Name, path: Path, api: string) =>
  HttpApiEndpoint.post(name, path, {
    payload: bodyOf(`A request of the ${api} API`),
    success: [Schema.Unknown, HttpApiSchema.StreamSse({ events: StreamedEvent })],
    error,
  })
    .annotate(RateClass, "execute")
    .annotateMerge(described(`Call a model (${api})`, MODEL))

const LISTED = "In Anthropic's form if the request has `anthropic-version`, else in OpenAI's."

export class CallsApi extends HttpApiGroup.make("calls")
  .add(
    HttpApiEndpoint.post("chat", "/v1/chat/completions", {
      payload: bodyOf("A request of the Chat Completions API"),
      success: [Schema.Unknown, HttpApiSchema.StreamSse({ events: StreamedEvent })],
      error: [...error, AgentNotFound, IdempotencyMismatch, IdempotencyInFlight, JobCancelled],
    })
      .annotate(RateClass, "execute")
      .annotateMerge(described("Call a model or an agent (Chat Completions)", `${MODEL} ${AGENTS}`)),
    call("responses", "/v1/responses", "Responses"),
    call("messages", "/v1/messages", "Messages"),
    HttpApiEndpoint.post("countTokens", "/v1/messages/count_tokens", {
      payload: bodyOf("A request of the Messages API, to be counted"),
      success: Schema.Unknown,
      error: [...error, NotFound],
    })
      .annotate(RateClass, "read")
      .annotate(NeededRole, "run")
      .annotateMerge(described("Count the tokens of a request (Messages)", MODEL)),
    HttpApiEndpoint.post("embeddings", "/v1/embeddings", {
      payload: bodyOf("A request of the Embeddings API"),
      success: Schema.Unknown,
      error,
    })
      .annotate(RateClass, "execute")
      .annotateMerge(described("Embed texts", MODEL)),
    HttpApiEndpoint.get("models", "/v1/models", {
      success: Schema.Unknown,
    }).annotateMerge(described("List the models that the caller may use", LISTED)),
    HttpApiEndpoint.get("model", "/v1/models/:id", {
      params: { id: Schema.String.annotate({ description: "The model's name." }) },
      success: Schema.Unknown,
      error: [ModelNotFound],
    }).annotateMerge(described("Read one model", LISTED)),
    // Not "/v1/models/*": the router would add "/v1/models" to it, which is a route of its own.
    HttpApiEndpoint.get("modelWithSlash", "/v1/models*", {
      params: { "*": Schema.String },
      success: Schema.Unknown,
      error: [ModelNotFound, NotFound],
    }).annotate(OpenApi.Exclude, true),
  )
  .annotateMerge(OpenApi.annotations({ title: "Model calls", description: "The APIs of OpenAI and Anthropic." })) {}
