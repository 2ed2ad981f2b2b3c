/** The gateway's agents for other agents: the JSON-RPC binding of the Agent2Agent protocol, version 1.0. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { described } from "../described.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole, RateClass } from "./Authorization.ts"
import { RpcRequest } from "./JsonRpc.ts"

/** The only supported version. */
export const A2A_VERSION = "1.0"
const MAX_VERSION = 32

const version = (description: string) =>
  Schema.optionalKey(Schema.String.check(Schema.isMaxLength(MAX_VERSION)).annotate({ description }))

const params = { id: Schema.String.annotate({ description: "The agent's id or name." }) }

export class A2aApi extends HttpApiGroup.make("a2a")
  .add(
    HttpApiEndpoint.get("card", "/:id/.well-known/agent-card.json", {
      params,
      success: Schema.Unknown,
      error: [AgentNotFound],
    }).annotateMerge(
      described(
        "Read an agent's card",
        "What A2A clients need to call the agent. Cards are as private as agents: they need a key or token.",
      ),
    ),
    HttpApiEndpoint.post("call", "/:id", {
      params,
      headers: { "a2a-version": version(`The client's version: ${A2A_VERSION}.`) },
      query: { "A2A-Version": version("The same, if the client sends no header.") },
      payload: RpcRequest,
      success: Schema.Unknown,
      error: [AgentNotFound, ...BODY_PROBLEMS],
    })
      // `SendMessage` may start a job, so every request counts as one. Methods that need the role `run` check it.
      .annotate(RateClass, "execute")
      .annotate(NeededRole, "read")
      .annotateMerge(
        described(
          "Call an agent over A2A",
          "JSON-RPC with `SendMessage`, `SendStreamingMessage`, `GetTask`, `ListTasks`, `CancelTask` and `SubscribeToTask`; a task is a job. Errors, those of HTTP included, are JSON-RPC errors. The two streaming methods answer with server-sent events.",
        ),
      ),
  )
  .prefix("/a2a")
  .annotateMerge(OpenApi.annotations({ title: "A2A", description: "The gateway's agents for other agents." })) {}
