import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { Thread, NewThread, ThreadNotFound } from "../../domain/jobs/thread.ts"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole } from "./Authorization.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"
import { described } from "../described.ts"

const params = { id: Schema.String.annotate({ description: "The thread's id." }) }

export class ThreadsApi extends HttpApiGroup.make("threads")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: NewThread,
      success: Thread.pipe(HttpApiSchema.status(201)),
      error: [AgentNotFound, ...BODY_PROBLEMS],
    })
      .annotate(NeededRole, "run")
      .annotateMerge(
        described("Begin a thread", "A job continues it if it is given to the agent with this `thread_id`."),
      ),
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery,
      success: pageOf(Thread),
      error: [CursorInvalid],
    }).annotateMerge(described("List threads", LIST)),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      success: Thread,
      error: [ThreadNotFound],
    }).annotateMerge(described("Read a thread", "`GET /api/v1/jobs?thread_id=` lists its jobs.")),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [ThreadNotFound],
    }).annotateMerge(described("Delete a thread", "With all of its jobs.")),
  )
  .prefix("/api/v1/threads")
  .annotateMerge(OpenApi.annotations({ title: "Threads", description: "Conversations with an agent." })) {}
