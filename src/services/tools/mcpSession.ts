/** Sessions with MCP servers over streamable HTTP or standard streams. */
import { Duration, Effect, Predicate, Schema, type Scope } from "effect"
import type { McpClient, McpClientError, McpSchema } from "effect/ai"
import { HttpClient, HttpClientRequest } from "effect/http"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type { McpCommand } from "../../domain/jobs/mcpCommands.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { withCheckedMessages } from "./checkedMessages.ts"
import { processOf } from "./McpCommands.ts"
import { type Malformed, splitTools } from "./mcpList.ts"
import { authorizationOf, type Bearer } from "./withoutSecret.ts"

/** Longer messages of a server end the session. */
export const MAX_MESSAGE_BYTES = 1024 * 1024

/** The supported revisions, newest first. The library supports only the newest, whose results extend those of the others. */
export const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]
/** Most tools of a server, malformed ones included. The library counts only those that it gets. */
const MAX_LISTED = 10_000
const TOO_MANY = `More than ${MAX_LISTED} tools are listed.`
const MAX_MALFORMED = 64
const REVISION_HEADER = "mcp-protocol-version"

/** Names the idempotency key in `_meta` of a call. */
export const KEY_IN_META = "sealgate/idempotency-key"

interface Wanted {
  /** The server's URL, or the command that starts it. */
  readonly to: string | McpCommand
  readonly bearer: Bearer
  /** Bounds the opening, and a list. */
  readonly seconds: number
  /** Idempotency key that tool calls have in a header and in `_meta`. */
  readonly key?: string | undefined
}

interface Session {
  readonly client: McpClient.McpClient
  /** The first tools of the list so far. */
  readonly malformed: ReadonlyArray<Malformed>
}

interface Reach {
  readonly network: HttpClient.HttpClient
  readonly spawner: ChildProcessSpawner["Service"]
}

/** Returns a function that opens sessions. */
export const makeConnect = ({ network, spawner }: Reach) =>
  Effect.fnUntraced(function* ({
    bearer,
    key,
    seconds,
    to,
  }: Wanted): Effect.fn.Return<Session, McpClientError.McpClientError, Scope.Scope> {
    // Most gateways call no MCP server, and the library takes long to load.
    const { McpClient, McpClientError, McpProtocol, McpSchema } = yield* Effect.promise(() => import("effect/ai"))
    const bounds = { protocol: McpProtocol.v2025_11_25, maxMessageBytes: MAX_MESSAGE_BYTES }
    // The library sends the same headers with every message, including its replies to the server during a call.
    let unsent: string | undefined
    let revision: string | undefined
    let refused: string | undefined
    const checked = withCheckedMessages(network, { maxBytes: MAX_MESSAGE_BYTES, refuse: (why) => (refused = why) })
    const client = HttpClient.mapRequest(checked, (sent) => {
      const added = unsent === undefined ? {} : { "idempotency-key": unsent }
      unsent = undefined
      // The library sends its own revision, also with `initialize`. Later requests must name the server's revision.
      const named =
        revision === undefined
          ? HttpClientRequest.removeHeader(sent, REVISION_HEADER)
          : HttpClientRequest.setHeader(sent, REVISION_HEADER, revision)
      return HttpClientRequest.setHeaders(named, added)
    })
    const headers = { "user-agent": "sealgate", ...authorizationOf(bearer) }
    const transport =
      typeof to === "string"
        ? yield* Effect.provideService(McpClient.http({ ...bounds, url: to, headers }), HttpClient.HttpClient, client)
        : yield* Effect.provideService(
            McpClient.stdio({ ...bounds, command: yield* processOf(to) }),
            ChildProcessSpawner,
            spawner,
          )
    const malformed: Array<Malformed> = []
    let listed = 0
    const decodeTool = Schema.decodeUnknownResult(McpSchema.Tool)
    /** The result of a method as the library takes it. */
    const accepted = (method: string, result: JsonObject): JsonObject => {
      const { protocolVersion, tools } = result
      if (method === "tools/call") return withContent(result)
      if (method === "tools/list" && Array.isArray(tools)) {
        const split = splitTools(tools, decodeTool)
        malformed.push(...split.malformed.slice(0, MAX_MALFORMED - malformed.length))
        listed += tools.length
        return { ...withoutEmptyCursor(result), tools: split.wellFormed }
      }
      if (method !== "initialize") return result
      revision = REVISIONS.find((spoken) => spoken === protocolVersion)
      return revision === undefined ? result : { ...result, protocolVersion: bounds.protocol.protocolVersion }
    }
    const request: McpClient.Transport["request"] = (message, tool) =>
      Effect.suspend(() => {
        if (key === undefined || message.method !== "tools/call") return transport.request(message, tool)
        unsent = key
        return transport.request(withKey(message, key), tool)
      }).pipe(
        Effect.mapError((error) =>
          refused === undefined
            ? error
            : new McpClientError.McpClientError({ reason: new McpClientError.ProtocolError({ description: refused }) }),
        ),
        Effect.map((response) =>
          response.error === undefined && isObject(response.result)
            ? { ...response, result: accepted(message.method, response.result) }
            : response,
        ),
        Effect.filterOrFail(
          () => listed <= MAX_LISTED,
          () => new McpClientError.McpClientError({ reason: new McpClientError.LimitError({ description: TOO_MANY }) }),
        ),
      )
    const opened = yield* Effect.provideService(
      McpClient.make({ name: "sealgate", version: "1", timeout: Duration.seconds(seconds) }),
      McpClient.Transport,
      { ...transport, request },
    )
    return { client: opened, malformed }
  })

/** Servers of these revisions also end a list with an empty cursor or `null`. */
const withoutEmptyCursor = ({ nextCursor, ...page }: JsonObject): JsonObject =>
  Predicate.isNullish(nextCursor) || nextCursor === "" ? page : { ...page, nextCursor }

/** Servers may leave out the content beside a structured one. */
const withContent = (result: JsonObject): JsonObject =>
  Predicate.isNotNullish(result["structuredContent"]) ? { ...result, content: result["content"] ?? [] } : result

const withKey = (message: McpSchema.JsonRpcRequest, key: string): McpSchema.JsonRpcRequest => ({
  ...message,
  params: { ...message.params, _meta: { [KEY_IN_META]: key } },
})
