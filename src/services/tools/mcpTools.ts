/** Tools of MCP servers, one session for each list or call. */
import { Duration, Effect } from "effect"
import type { McpClientError, McpSchema } from "effect/ai"
import type { HttpClient } from "effect/http"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type { McpCommand } from "../../domain/jobs/mcpCommands.ts"
import { propertyNameMistake } from "../../domain/jobs/modelSchema.ts"
import {
  DEFAULT_TOOL_TIMEOUT_SECONDS,
  type ListedTool,
  type McpServer,
  schemaMistake,
  toolNameMistake,
} from "../../domain/jobs/tool.ts"
import { isRetryable } from "../../domain/problems/problem.ts"
import { isRefused, REFUSED } from "./guardedConnect.ts"
import { UNLISTED } from "./McpCommands.ts"
import { outputOf } from "./mcpContent.ts"
import { makeConnect, MAX_MESSAGE_BYTES, REVISIONS } from "./mcpSession.ts"
import { broken, late, type ToolAttempt } from "./repeated.ts"
import { boundedText, failedOutput, type ToolInput } from "./ToolOutput.ts"
import { type Bearer, withoutSecret } from "./withoutSecret.ts"

const MAX_TOOLS = 64
const MAX_DESCRIPTION = 2000

/** The usable tools of a server, and why others were left out. */
export interface Listing {
  readonly tools: ReadonlyArray<ListedTool>
  readonly leftOut: ReadonlyArray<string>
}

interface Sent {
  readonly input: ToolInput
  readonly key: string
  readonly bearer: Bearer
}

export interface ListingFailed {
  readonly why: string
  readonly retryable: boolean
}

const secondsOf = ({ timeout_seconds = DEFAULT_TOOL_TIMEOUT_SECONDS }: McpServer): number => timeout_seconds

interface Reach {
  readonly network: HttpClient.HttpClient
  readonly commands: ReadonlyMap<string, McpCommand>
  readonly spawner: ChildProcessSpawner["Service"]
}

/** How a session reaches its server; `undefined` if the server is a command that the operator does not list. */
const wayTo = (server: McpServer, commands: Reach["commands"]): string | McpCommand | undefined =>
  "command" in server ? commands.get(server.command) : server.url

export const makeMcpTools = ({ commands, network, spawner }: Reach) => {
  const connect = makeConnect({ network, spawner })

  const list = (server: McpServer, bearer: Bearer): Effect.Effect<Listing, ListingFailed> => {
    const way = wayTo(server, commands)
    if (way === undefined) return Effect.fail({ why: UNLISTED, retryable: false })
    return Effect.flatMap(connect({ to: way, bearer, seconds: secondsOf(server) }), (client) =>
      client.listTools(),
    ).pipe(
      Effect.scoped,
      Effect.map((tools) => listingOf(server, bearer, tools)),
      Effect.mapError((error) => withoutSecret(bearer, listingFailed(error))),
      Effect.timeoutOrElse({
        duration: Duration.seconds(secondsOf(server)),
        orElse: () => Effect.fail({ why: `It gave no whole answer within ${secondsOf(server)} s.`, retryable: true }),
      }),
    )
  }

  const attempt = (server: McpServer, tool: ListedTool, { bearer, input, key }: Sent): Effect.Effect<ToolAttempt> => {
    const way = wayTo(server, commands)
    if (way === undefined) return Effect.succeed({ output: failedOutput(UNLISTED), again: false })
    return Effect.flatMap(connect({ to: way, bearer, key, seconds: secondsOf(server) }), (client) =>
      client.callTool({ tool: remoteOf(tool), arguments: input }),
    ).pipe(
      Effect.scoped,
      Effect.map((result): ToolAttempt => ({ output: outputOf(result), again: false })),
      Effect.catch((error) => Effect.succeed(failed(tool, error))),
      Effect.timeoutOrElse({
        duration: Duration.seconds(secondsOf(server)),
        orElse: () => Effect.succeed(late(tool, secondsOf(server))),
      }),
    )
  }

  return { list, attempt }
}

/** The part of a tool that a call needs. */
const remoteOf = ({ remote }: ListedTool): McpSchema.Tool => ({ name: remote, inputSchema: { type: "object" } })

/** Leaves out tools that models or this gateway could not handle, and replaces the secret in the others. */
const listingOf = (server: McpServer, bearer: Bearer, found: ReadonlyArray<McpSchema.Tool>): Listing => {
  const tools = new Map<string, ListedTool>()
  const leftOut: Array<string> = []
  for (const tool of found) {
    // Before they are shortened.
    const { description, remote } = withoutSecret(bearer, {
      remote: tool.name,
      description: tool.description ?? tool.title ?? tool.name,
    })
    const name = `${server.name}__${remote}`
    const { type: _, ...members } = tool.inputSchema
    const mistake =
      toolNameMistake(name) ??
      schemaMistake({ type: "object", ...members }) ??
      // Its depth is bounded by now.
      propertyNameMistake(withoutSecret(bearer, members)) ??
      (tools.has(name) ? "give each tool a name of its own" : undefined) ??
      (tools.size === MAX_TOOLS ? `list at most ${MAX_TOOLS} tools` : undefined)
    if (mistake !== undefined) leftOut.push(`${name.slice(0, 100)}: ${mistake}`)
    else {
      tools.set(name, {
        name,
        remote,
        description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
        input_schema: { type: "object", ...withoutSecret(bearer, members) },
        read_only: tool.annotations?.readOnlyHint === true,
        idempotent: tool.annotations?.idempotentHint === true,
      })
    }
  }
  return { tools: [...tools.values()], leftOut }
}

/** The failure in words. Texts of servers and of the system stay out, except the reason of a protocol error. */
const reasonOf = ({ reason }: McpClientError.McpClientError): string => {
  switch (reason._tag) {
    case "HttpError":
      return `The MCP server answered with HTTP ${reason.status}.`
    case "ProtocolError":
      return `The MCP server answered: ${boundedText(reason.description ?? "no reason")}`
    case "UnsupportedError":
      return `The MCP server speaks none of the revisions ${REVISIONS.join(", ")} of the protocol, or offers no tools.`
    case "LimitError":
      return `The MCP server sent more than ${MAX_MESSAGE_BYTES} bytes, or a list of tools without end.`
    default:
      return "The MCP server could not be reached, or did not answer as the protocol says."
  }
}

const listingFailed = (error: McpClientError.McpClientError): ListingFailed => {
  if (isRefused(error)) return { why: `It was not asked: ${REFUSED}`, retryable: false }
  const { reason } = error
  const retryable = reason._tag === "HttpError" ? isRetryable(reason.status) : reason._tag === "TransportError"
  return { why: reasonOf(error), retryable }
}

const failed = (tool: ListedTool, error: McpClientError.McpClientError): ToolAttempt => {
  const { reason } = error
  if (reason._tag === "TransportError" || isRefused(error)) return broken(tool, error)
  const again = reason._tag === "HttpError" && isRetryable(reason.status)
  return { output: failedOutput(reasonOf(error)), again }
}
