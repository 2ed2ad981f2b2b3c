/** The gateway as an MCP server: streamable HTTP without sessions, so any gateway answers any request. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { BODY_PROBLEMS, Refusals } from "../problems.ts"
import { Authorization, NeededRole, RateClass } from "./Authorization.ts"

const MAX_METHOD = 100
const MAX_ID = 200
const MAX_PARAMS = 32

/** A request, or a notification if it has no `id` (JSON-RPC 2.0). */
export const McpMessage = Schema.Struct({
  jsonrpc: Schema.Literal("2.0").annotate({ description: "The version of JSON-RPC." }),
  id: Schema.optionalKey(
    Schema.Union([Schema.String.check(Schema.isMaxLength(MAX_ID)), Schema.Int]).annotate({
      description: "Comes back with the answer; absent in notifications.",
    }),
  ),
  method: Schema.String.check(Schema.isMaxLength(MAX_METHOD)).annotate({ description: "Such as `tools/call`." }),
  params: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown)
      .check(Schema.isMaxProperties(MAX_PARAMS))
      .annotate({ description: "As the method defines them." }),
  ),
}).annotate({ identifier: "McpMessage" })
export type McpMessage = typeof McpMessage.Type

export class McpApi extends HttpApiGroup.make("mcp")
  .add(
    HttpApiEndpoint.post("call", "/mcp", {
      headers: {
        "mcp-protocol-version": Schema.optionalKey(
          Schema.String.annotate({ description: "The revision that `initialize` agreed on." }),
        ),
      },
      payload: McpMessage,
      success: Schema.Unknown,
      error: [...BODY_PROBLEMS, StorageUnavailable],
    })
      // `tools/call` may start a job, so every message counts as one. The tool that does checks the role `run`.
      .annotate(RateClass, "execute")
      .annotate(NeededRole, "read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Call the gateway as an MCP server",
          description:
            "Streamable HTTP of the Model Context Protocol with the tools `list_agents`, `run_agent` and `get_job`. Notifications are answered with 202.",
        }),
      ),
  )
  .middleware(Authorization)
  .middleware(Refusals)
  .annotateMerge(OpenApi.annotations({ title: "MCP", description: "The gateway's agents as tools." })) {}
