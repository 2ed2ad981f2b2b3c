import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { CurrentUser } from "../../../api/gateway/Authorization.ts"
import { GatewayApi } from "../../../api/gateway/GatewayApi.ts"
import type { RpcMessage } from "../../../api/gateway/JsonRpc.ts"
import type { Identity } from "../../../domain/access/identity.ts"
import { isObject } from "../../../domain/json/json.ts"
import { schemaIssues } from "../../../domain/json/schemaIssues.ts"
import { isRefusal } from "../../../domain/problems/refusal.ts"
import { SOFTWARE } from "../../../domain/operations/software.ts"
import { layerHandlers } from "../../shared/layerHandlers.ts"
import { makeGatewayTools, type RunnableTool } from "./gatewayTools.ts"

/** The revisions that are spoken, newest first. */
const REVISIONS: ReadonlyArray<string> = ["2025-11-25", "2025-06-18", "2025-03-26"]

const [NAME, VERSION] = SOFTWARE.split("/")

const INSTRUCTIONS = "Agents whose answers are debated or verified before you get them. Begin with list_agents."

/** Codes of JSON-RPC 2.0. */
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602

type RpcOutcome = { readonly result: object } | { readonly error: { readonly code: number; readonly message: string } }

const failed = (code: number, message: string): RpcOutcome => ({ error: { code, message } })

const initialized = ({ params = {} }: RpcMessage): RpcOutcome => {
  const asked = params["protocolVersion"]
  const protocolVersion = typeof asked === "string" && REVISIONS.includes(asked) ? asked : REVISIONS[0]
  return {
    result: {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: NAME, version: VERSION },
      instructions: INSTRUCTIONS,
    },
  }
}

/** The result of a tool. Refusals and mistaken arguments are results too, so that the model reads the reason (SEP-1303). */
const resultOf = (content: object, isError: boolean): RpcOutcome => ({
  result: {
    content: [{ type: "text", text: JSON.stringify(content) }],
    ...(isError ? { isError } : { structuredContent: content }),
  },
})

const called = (tools: ReadonlyArray<RunnableTool>, user: Identity, { params = {} }: RpcMessage) => {
  const tool = tools.find(({ name }) => name === params["name"])
  if (tool === undefined) {
    const names = tools.map(({ name }) => name).join(", ")
    return Effect.succeed(failed(INVALID_PARAMS, `There is no such tool; there are ${names}.`))
  }
  const given = params["arguments"] ?? {}
  if (!isObject(given)) return Effect.succeed(failed(INVALID_PARAMS, "Give the arguments as an object."))
  return tool.run(user, given).pipe(
    Effect.map((content) => resultOf(content, false)),
    Effect.catch((error) =>
      Effect.succeed(
        resultOf(isRefusal(error) ? error.problem : { errors: schemaIssues(error.issue, ["arguments"]) }, true),
      ),
    ),
  )
}

export const McpHandlers = layerHandlers(
  GatewayApi,
  "mcp",
  Effect.fn(function* (handlers) {
    const tools = yield* makeGatewayTools

    const outcomeOf = Effect.fnUntraced(function* (message: RpcMessage) {
      switch (message.method) {
        case "initialize":
          return initialized(message)
        case "ping":
          return { result: {} }
        case "tools/list":
          return { result: { tools: tools.map(({ listed }) => listed) } }
        case "tools/call":
          return yield* called(tools, yield* CurrentUser, message)
        default:
          return failed(METHOD_NOT_FOUND, "This server has the methods initialize, ping, tools/list and tools/call.")
      }
    })

    return handlers.handleAll({
      call: Effect.fnUntraced(function* ({ headers, payload }) {
        const { id } = payload
        if (id === undefined) return HttpServerResponse.empty({ status: 202 })
        const revision = headers["mcp-protocol-version"]
        if (revision !== undefined && !REVISIONS.includes(revision)) {
          const refused = failed(INVALID_REQUEST, `Use one of the revisions ${REVISIONS.join(", ")}.`)
          return HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id, ...refused }, { status: 400 })
        }
        return HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id, ...(yield* outcomeOf(payload)) })
      }),
    })
  }),
)
