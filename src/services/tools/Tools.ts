/** Calls of tools. A failed call also has an output: the model reads the reason and continues. */
import { layer as layerSpawner } from "@effect/platform-node/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { Context, Effect, Layer } from "effect"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type { HttpTool, ListedTool, McpServer } from "../../domain/jobs/tool.ts"
import { spanned } from "../spans.ts"
import { makeHttpAttempt } from "./httpTools.ts"
import { type Listing, type ListingFailed, makeMcpTools } from "./mcpTools.ts"
import { McpCommands } from "./McpCommands.ts"
import { repeated } from "./repeated.ts"
import { ToolNetwork } from "./ToolNetwork.ts"
import { failedOutput, type ToolInput, type ToolOutput } from "./ToolOutput.ts"
import { type Bearer, withoutSecret } from "./withoutSecret.ts"

interface ToolsService {
  /**
   * Calls an HTTP tool. `key` is sent as `Idempotency-Key`, and is the same whenever the call is repeated. A read-only or
   * idempotent tool is called up to three times if a repetition may help. `bearer` is removed from the output.
   */
  readonly call: (tool: HttpTool, input: ToolInput, key: string, bearer?: Bearer) => Effect.Effect<ToolOutput>
  /** Lists the tools of an MCP server. `bearer` is removed from the list. */
  readonly list: (server: McpServer, bearer?: Bearer) => Effect.Effect<Listing, ListingFailed>
  /** Calls a tool of an MCP server under the same rules; `key` is in `_meta` too. */
  readonly callListed: (
    server: McpServer,
    tool: ListedTool,
    input: ToolInput,
    key: string,
    bearer?: Bearer,
  ) => Effect.Effect<ToolOutput>
}

const NONE = Effect.succeed(failedOutput("No tool can be reached here."))

/** Reaches no tool by default. */
export const Tools = Context.Reference<ToolsService>("sealgate/services/tools/Tools", {
  defaultValue: () => ({
    call: () => NONE,
    list: () => Effect.fail({ why: "No tool can be reached here.", retryable: false }),
    callListed: () => NONE,
  }),
})
export type Tools = ToolsService

export const layerTools: Layer.Layer<never, never, ToolNetwork> = Layer.effect(
  Tools,
  Effect.gen(function* () {
    const network = yield* ToolNetwork
    const http = makeHttpAttempt(network)
    const mcp = makeMcpTools({ network, commands: yield* McpCommands, spawner: yield* ChildProcessSpawner })
    const called = spanned("Tools.call")
    const clean = (bearer: Bearer, output: Effect.Effect<ToolOutput>) =>
      Effect.map(output, (value) => withoutSecret(bearer, value))
    return {
      call: (tool, input, key, bearer) => clean(bearer, called(repeated(tool, http(tool, input, key, bearer)))),
      list: (server, bearer) => spanned("Tools.list")(mcp.list(server, bearer)),
      callListed: (server, tool, input, key, bearer) =>
        clean(bearer, called(repeated(tool, mcp.attempt(server, tool, { input, key, bearer })))),
    } satisfies ToolsService
  }),
).pipe(Layer.provide(Layer.provide(layerSpawner, [NodeFileSystem.layer, NodePath.layer])))
