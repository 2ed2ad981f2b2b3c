/** What `/openapi.json` says: what the API's types say, and what only the server knows of its problems. */
import { STATUS_CODES } from "node:http"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import type { ProblemCodes } from "../../api/problems.ts"
import { PROBLEM_CONTENT_TYPE } from "../../domain/problem.ts"

/** What every operation may answer that is declared to answer with such a status. */
const COMMON = {
  "": {
    malformed: 400,
    "cross-origin": 403,
    timeout: 408,
    "too-large": 413,
    "unsupported-media-type": 415,
    misdirected: 421,
    "rate-limited": 429,
    internal: 500,
    draining: 503,
  },
} as const satisfies ProblemCodes

const codesOf = (codes: ProblemCodes, operationId: string, status: string): ReadonlyArray<string> =>
  Object.entries(codes)
    .filter(([prefix]) => operationId.startsWith(prefix))
    .flatMap(([, statuses]) => Object.entries(statuses))
    .flatMap(([code, ofCode]) => (String(ofCode) === status ? [`\`${code}\``] : []))

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const

/** Every operation that a document describes. */
export const operationsIn = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<OpenApi.OpenAPISpecOperation> =>
  Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []))

/** The OpenAPI document of `api`, whose problems have `codes` beside those that both servers have. */
export const descriptionOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  codes: ProblemCodes,
): OpenApi.OpenAPISpec => {
  const document = OpenApi.fromApi(api)
  for (const operation of operationsIn(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const phrase = STATUS_CODES[status] ?? response.description
      const found = Object.hasOwn(response.content ?? {}, PROBLEM_CONTENT_TYPE)
        ? [codes, COMMON].flatMap((codes) => codesOf(codes, operation.operationId, status))
        : []
      response.description = found.length === 0 ? phrase : `${phrase}: ${found.join(", ")}`
    }
  }
  // Stated although it is what is meant without it: some generators insist on it.
  return { ...document, servers: [{ url: "/" }] }
}
