/** Tools of MCP servers, one session for each list or call. */
import { hash } from "node:crypto"
import { Duration, Effect } from "effect"
import type { McpClientError, McpSchema } from "effect/ai"
import type { HttpClient } from "effect/http"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type { McpCommand } from "../../domain/jobs/mcpCommands.ts"
import { propertyNameMistake } from "../../domain/jobs/modelSchema.ts"
import {
  DEFAULT_TOOL_TIMEOUT_SECONDS,
  type ListedTool,
  MAX_NAME,
  type McpServer,
  schemaMistake,
} from "../../domain/jobs/tool.ts"
import { isRetryable } from "../../domain/problems/problem.ts"
import { inSteps } from "../inSteps.ts"
import { isRefused, REFUSED } from "./guardedConnect.ts"
import { UNLISTED } from "./McpCommands.ts"
import { outputOf } from "./mcpContent.ts"
import type { Malformed } from "./mcpList.ts"
import { makeConnect, MAX_MESSAGE_BYTES, REVISIONS } from "./mcpSession.ts"
import { broken, late, type ToolAttempt, unanswered } from "./repeated.ts"
import { boundedText, failedOutput, type ToolInput } from "./ToolOutput.ts"
import { type Bearer, withoutSecret } from "./withoutSecret.ts"

const MAX_TOOLS = 64
const MAX_DESCRIPTION = 2000
/** Longest name of a tool in MCP. */
const MAX_REMOTE = 128
const HASH_CHARS = 8
/** Most characters of a name or mistake in the trail. */
const MAX_SHOWN = 100

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
    return Effect.flatMap(connect({ to: way, bearer, seconds: secondsOf(server) }), ({ client, malformed }) =>
      Effect.flatMap(client.listTools(), (tools) => inSteps(listingSteps(server, bearer, { tools, malformed }))),
    ).pipe(
      Effect.scoped,
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
    const session = Effect.mapError(connect({ to: way, bearer, key, seconds: secondsOf(server) }), (error) =>
      failed(tool, error, false),
    )
    return Effect.flatMap(session, ({ client }) =>
      client.callTool({ tool: remoteOf(tool), arguments: input }).pipe(
        Effect.map((result): ToolAttempt => ({ output: outputOf(result), again: false })),
        Effect.mapError((error) => failed(tool, error, true)),
      ),
    ).pipe(
      Effect.scoped,
      Effect.catch(Effect.succeed),
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

/**
 * Leaves out tools that models or this gateway could not handle, and replaces the secret in the others. Yields after
 * each.
 */
function* listingSteps(
  server: McpServer,
  bearer: Bearer,
  found: { readonly tools: ReadonlyArray<McpSchema.Tool>; readonly malformed: ReadonlyArray<Malformed> },
): Generator<void, Listing> {
  const tools = new Map<string, ListedTool>()
  const leftOut = withoutSecret(bearer, found.malformed).map(({ mistake, name }) =>
    refused(server, name, mistake.slice(0, MAX_SHOWN)),
  )
  for (const tool of found.tools) {
    // Before names are shortened.
    const { description, remote } = withoutSecret(bearer, {
      remote: tool.name,
      description: tool.description ?? tool.title ?? tool.name,
    })
    const name = nameOf(server, remote)
    const { type: _, ...members } = tool.inputSchema
    const mistake =
      remoteMistake(tool, remote) ??
      (tools.has(name) ? "give each tool a name of its own" : undefined) ??
      (tools.size === MAX_TOOLS ? `list at most ${MAX_TOOLS} tools` : undefined) ??
      schemaMistake({ type: "object", ...members }) ??
      // Its depth is bounded by now.
      propertyNameMistake(withoutSecret(bearer, members))
    if (mistake !== undefined) leftOut.push(refused(server, remote, mistake))
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
    yield
  }
  return { tools: [...tools.values()], leftOut }
}

/**
 * The name that models see. MCP allows longer names than providers, and other characters. A changed name ends in a hash, so
 * that it is no other tool's.
 */
const nameOf = (server: McpServer, remote: string): string => {
  const name = `${server.name}__${remote}`
  const allowed = name.replaceAll(/[^a-zA-Z0-9_-]/gu, "_")
  if (allowed === name && name.length <= MAX_NAME) return name
  const end = `_${hash("sha256", remote).slice(0, HASH_CHARS)}`
  return `${allowed.slice(0, MAX_NAME - end.length)}${end}`
}

/** Returns the mistake in the server's own name of a tool, which is `remote` without the secret. */
const remoteMistake = ({ name }: McpSchema.Tool, remote: string): string | undefined => {
  // Calls use the server's own name.
  if (remote !== name) return "name it without the secret"
  return name.length > 0 && name.length <= MAX_REMOTE ? undefined : `use a name of 1 to ${MAX_REMOTE} characters`
}

const refused = (server: McpServer, remote: string, mistake: string): string =>
  `${`${server.name}__${remote}`.slice(0, MAX_SHOWN)}: ${mistake}`

/** The failure in a sentence. Texts of servers and of the system stay out, except the reason of a protocol error. */
const reasonOf = ({ reason }: McpClientError.McpClientError): string => {
  switch (reason._tag) {
    case "HttpError":
      return `The MCP server answered with HTTP ${reason.status}.`
    case "ProtocolError":
      return `The MCP server answered: ${boundedText(reason.description ?? "no reason").replace(/\.?$/, ".")}`
    case "ValidationError":
      return "The MCP server's answer does not follow the protocol."
    case "UnsupportedError":
      return `The MCP server speaks none of the revisions ${REVISIONS.join(", ")} of the protocol, or offers no tools.`
    case "LimitError":
      return `The MCP server sent more than ${MAX_MESSAGE_BYTES} bytes, or a list of tools without end.`
    default:
      return "The MCP server could not be reached, or its answer broke off."
  }
}

const listingFailed = (error: McpClientError.McpClientError): ListingFailed => {
  if (isRefused(error)) return { why: `It was not asked: ${REFUSED}`, retryable: false }
  const { reason } = error
  const retryable = reason._tag === "HttpError" ? isRetryable(reason.status) : reason._tag === "TransportError"
  return { why: reasonOf(error), retryable }
}

/** Whether an answer came that could not be read. Errors that the server answered have a code. */
const isUnread = ({ reason }: McpClientError.McpClientError): boolean =>
  reason._tag === "ValidationError" ||
  reason._tag === "LimitError" ||
  (reason._tag === "ProtocolError" && reason.code === undefined)

/** `sent`: the session was open, so the call was sent. */
const failed = (tool: ListedTool, error: McpClientError.McpClientError, sent: boolean): ToolAttempt => {
  const { reason } = error
  if (reason._tag === "TransportError" || isRefused(error)) return broken(tool, error)
  if (sent && isUnread(error)) return unanswered(tool, reasonOf(error), false)
  const again = reason._tag === "HttpError" && isRetryable(reason.status)
  return { output: failedOutput(reasonOf(error)), again }
}
