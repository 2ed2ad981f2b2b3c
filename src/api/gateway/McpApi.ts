/** The gateway as an MCP server: streamable HTTP without sessions, so any gateway answers any request. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole, RateClass } from "./Authorization.ts"
import { RpcMessage } from "./JsonRpc.ts"
import { described } from "../described.ts"

export class McpApi extends HttpApiGroup.make("mcp")
  .add(
    HttpApiEndpoint.post("call", "/mcp", {
      headers: {
        "mcp-protocol-version": Schema.optionalKey(
          Schema.String.annotate({ description: "The revision that `initialize` agreed on." }),
        ),
      },
      payload: RpcMessage,
      success: Schema.Unknown,
      error: [...BODY_PROBLEMS],
    })
      // `tools/call` may start a job, so every message counts as one. The tool that does checks the role `run`.
      .annotate(RateClass, "execute")
      .annotate(NeededRole, "read")
      .annotateMerge(
        described(
          "Call the gateway as an MCP server",
          "Streamable HTTP of the Model Context Protocol with the tools `list_agents`, `run_agent` and `get_job`. Notifications are answered with 202.",
        ),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "MCP", description: "The gateway's agents as tools." })) {}
