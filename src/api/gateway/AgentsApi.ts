import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Agent, AgentNotFound, AgentStale, CreateAgent, TooManyAgents, UpdateAgent } from "../../domain/jobs/agent.ts"
import {
  Job,
  ExecuteRequest,
  IdempotencyInFlight,
  IdempotencyKey,
  IdempotencyMismatch,
  OutputSchemaRefused,
  TooManyJobs,
} from "../../domain/jobs/job.ts"
import { ModeUnknown } from "../../domain/jobs/modes/own.ts"
import { ThreadBusy, ThreadNotFound } from "../../domain/jobs/thread.ts"
import { WebhookSecretMissing } from "../../domain/jobs/webhook.ts"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { RateClass } from "./Authorization.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"
import { described } from "../described.ts"

const params = { id: Schema.String.annotate({ description: "The agent's id." }) }
const ifMatch = {
  "if-match": Schema.optionalKey(
    Schema.String.annotate({
      description: "The ETag that was read. The change is refused if there is a newer version.",
    }),
  ),
}
const AgentWithTag = HttpApiSchema.WithHeaders(Agent, { etag: Schema.String })

const AgentPage = pageOf(Agent)

export class AgentsApi extends HttpApiGroup.make("agents")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateAgent,
      success: HttpApiSchema.WithHeaders(Agent, { location: Schema.String, etag: Schema.String }).pipe(
        HttpApiSchema.status(201),
      ),
      error: [ModeUnknown, TooManyAgents, WebhookSecretMissing, ...BODY_PROBLEMS],
    }).annotateMerge(described("Create an agent", "Omitted members take their defaults.")),
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery,
      success: AgentPage,
      error: [CursorInvalid],
    }).annotateMerge(described("List agents", LIST)),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      success: AgentWithTag,
      error: [AgentNotFound],
    }).annotateMerge(described("Read an agent")),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      headers: ifMatch,
      payload: UpdateAgent,
      success: AgentWithTag,
      error: [AgentNotFound, AgentStale, ModeUnknown, WebhookSecretMissing, ...BODY_PROBLEMS],
    }).annotateMerge(
      described(
        "Change an agent",
        "Given members replace the agent's, `null` removes an optional one, `limits` are merged in the same way. With `If-Match`, changes only the version with that ETag.",
      ),
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      headers: ifMatch,
      success: HttpApiSchema.NoContent,
      error: [AgentNotFound, AgentStale],
    }).annotateMerge(described("Delete an agent", "Its jobs stay readable.")),
    HttpApiEndpoint.post("execute", "/:id/execute", {
      params,
      headers: { "idempotency-key": Schema.optionalKey(IdempotencyKey) },
      payload: ExecuteRequest,
      success: HttpApiSchema.WithHeaders(Job, { location: Schema.String, "retry-after": Schema.Int }).pipe(
        HttpApiSchema.status(202),
      ),
      error: [
        AgentNotFound,
        IdempotencyInFlight,
        IdempotencyMismatch,
        ModeUnknown,
        OutputSchemaRefused,
        ThreadBusy,
        ThreadNotFound,
        TooManyJobs,
        WebhookSecretMissing,
        ...BODY_PROBLEMS,
      ],
    })
      .annotate(RateClass, "execute")
      .annotateMerge(
        described(
          "Give an agent a task",
          "The job is stored before this answers; poll it at `Location`. For 24 hours, a repeated request with the same `Idempotency-Key` and body returns the same job.",
        ),
      ),
  )
  .prefix("/api/v1/agents")
  .annotateMerge(OpenApi.annotations({ title: "Agents", description: "Agents carry out tasks." })) {}
