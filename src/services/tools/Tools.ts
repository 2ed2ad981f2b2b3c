/** Calls of tools over HTTP. A failed call is an output too: the model reads the reason and goes on. */
import { Context, Duration, Effect, Layer } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest } from "effect/http"
import { DEFAULT_TOOL_TIMEOUT_SECONDS, type HttpTool } from "../../domain/jobs/tool.ts"
import { isRetryable } from "../../domain/problems/problem.ts"
import { spanned } from "../spans.ts"
import { AddressRefused } from "./guardedConnect.ts"
import { ToolNetwork } from "./ToolNetwork.ts"
import { failedOutput, outputOf, type ToolOutput } from "./ToolOutput.ts"

/** The input of a call. */
export type ToolInput = Readonly<Record<string, unknown>>

/** Delays before the repetitions of a failed call that may be repeated. */
const PAUSES = [Duration.millis(500), Duration.seconds(2)]

interface ToolsService {
  /**
   * Calls a tool. `key` is sent as `Idempotency-Key`, and is the same whenever the call is repeated. A read-only or
   * idempotent tool is called up to three times if a repetition may help.
   */
  readonly call: (tool: HttpTool, input: ToolInput, key: string) => Effect.Effect<ToolOutput>
}

/** Reaches no tool by default. */
export const Tools = Context.Reference<ToolsService>("sealgate/services/tools/Tools", {
  defaultValue: () => ({ call: () => Effect.succeed(failedOutput("No tool can be reached here.")) }),
})
export type Tools = ToolsService

export const layerTools: Layer.Layer<never, never, ToolNetwork> = Layer.effect(
  Tools,
  Effect.gen(function* () {
    const client = HttpClient.withScope(yield* ToolNetwork)

    /** One attempt; `again` tells whether another may succeed. */
    const attempt = (tool: HttpTool, request: HttpClientRequest.HttpClientRequest): Effect.Effect<Attempt> => {
      const seconds = tool.timeout_seconds ?? DEFAULT_TOOL_TIMEOUT_SECONDS
      return client.execute(request).pipe(
        Effect.flatMap((response) =>
          Effect.map(outputOf(response), (output) => ({ output, again: isRetryable(response.status) })),
        ),
        Effect.scoped,
        Effect.catch((error) => Effect.succeed(failed(tool, error))),
        Effect.timeoutOrElse({
          duration: Duration.seconds(seconds),
          orElse: () => Effect.succeed(unanswered(tool, `The tool gave no whole answer within ${seconds} s.`)),
        }),
      )
    }

    return {
      call: Effect.fnUntraced(function* (tool, input, key) {
        const request = requestOf(tool, input, key)
        let last = yield* attempt(tool, request)
        for (const pause of mayRepeat(tool) ? PAUSES : []) {
          if (!last.again) break
          yield* Effect.sleep(pause)
          last = yield* attempt(tool, request)
        }
        return last.output
      }, spanned("Tools.call")),
    } satisfies ToolsService
  }),
)

interface Attempt {
  readonly output: ToolOutput
  readonly again: boolean
}

const mayRepeat = ({ idempotent, read_only }: HttpTool): boolean => read_only === true || idempotent === true

/** A call that was sent, and whose answer did not come. */
const unanswered = (tool: HttpTool, what: string): Attempt => ({
  output: failedOutput(mayRepeat(tool) ? what : `${what} The call may have been carried out.`),
  again: true,
})

const failed = (tool: HttpTool, { reason }: HttpClientError.HttpClientError): Attempt =>
  isRefused(reason.cause)
    ? { output: failedOutput(REFUSED), again: false }
    : unanswered(tool, "The tool could not be reached, or its answer broke off.")

const REFUSED =
  "The tool was not called: its address is in a private network, or its URL is not https. The operator can allow a network (TOOL_PRIVATE_NETWORKS)."

/** Connections to several addresses fail with several errors. */
const isRefused = (cause: unknown): boolean =>
  cause instanceof AddressRefused ||
  (cause instanceof AggregateError && cause.errors.some(isRefused)) ||
  (cause instanceof Error && cause.cause !== undefined && isRefused(cause.cause))

const WITH_QUERY: ReadonlySet<string> = new Set(["GET", "DELETE"])

const requestOf = (tool: HttpTool, input: ToolInput, key: string): HttpClientRequest.HttpClientRequest => {
  const method = tool.method ?? "POST"
  const headers = { "idempotency-key": key, accept: "application/json, text/*", "user-agent": "sealgate" }
  const request = HttpClientRequest.make(method)(urlOf(tool, WITH_QUERY.has(method) ? input : {}), { headers })
  return WITH_QUERY.has(method)
    ? request
    : HttpClientRequest.bodyText(request, JSON.stringify(input), "application/json")
}

/** Adds the members of an input to the query: texts as they are, other values as JSON. */
const urlOf = ({ url }: HttpTool, input: ToolInput): URL => {
  const full = new URL(url)
  for (const [name, value] of Object.entries(input)) {
    full.searchParams.append(name, typeof value === "string" ? value : JSON.stringify(value))
  }
  return full
}
