/** Calls of plain HTTP tools. */
import { Duration, Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { DEFAULT_TOOL_TIMEOUT_SECONDS, type HttpTool } from "../../domain/jobs/tool.ts"
import { isRetryable } from "../../domain/problems/problem.ts"
import { broken, late, type ToolAttempt } from "./repeated.ts"
import { outputOf, type ToolInput } from "./ToolOutput.ts"
import { authorizationOf, type Bearer } from "./withoutSecret.ts"

export const makeHttpAttempt = (network: HttpClient.HttpClient) => {
  const client = HttpClient.withScope(network)
  return (tool: HttpTool, input: ToolInput, key: string, bearer: Bearer): Effect.Effect<ToolAttempt> => {
    const seconds = tool.timeout_seconds ?? DEFAULT_TOOL_TIMEOUT_SECONDS
    return client.execute(requestOf(tool, input, key, bearer)).pipe(
      Effect.flatMap((response) =>
        Effect.map(outputOf(response), (output) => ({ output, again: isRetryable(response.status) })),
      ),
      Effect.scoped,
      Effect.catch(({ reason }) => Effect.succeed(broken(tool, reason.cause))),
      Effect.timeoutOrElse({
        duration: Duration.seconds(seconds),
        orElse: () => Effect.succeed(late(tool, seconds)),
      }),
    )
  }
}

const WITH_QUERY: ReadonlySet<string> = new Set(["GET", "DELETE"])

const requestOf = (
  tool: HttpTool,
  input: ToolInput,
  key: string,
  bearer: Bearer,
): HttpClientRequest.HttpClientRequest => {
  const method = tool.method ?? "POST"
  const headers = {
    "idempotency-key": key,
    accept: "application/json, text/*",
    "user-agent": "sealgate",
    ...authorizationOf(bearer),
  }
  const request = HttpClientRequest.make(method)(urlOf(tool, WITH_QUERY.has(method) ? input : {}), { headers })
  return WITH_QUERY.has(method)
    ? request
    : HttpClientRequest.bodyText(request, JSON.stringify(input), "application/json")
}

/** Adds the members of an input to the query: texts as they are, other values as JSON. */
const urlOf = ({ url }: HttpTool, input: ToolInput): URL => {
  const full = new URL(url)
  const added = Object.entries(input)
  if (added.length === 0) return full
  // Each change of `full.searchParams` would rewrite the whole query.
  const query = new URLSearchParams(full.search)
  for (const [name, value] of added) query.append(name, typeof value === "string" ? value : JSON.stringify(value))
  full.search = query.toString()
  return full
}
