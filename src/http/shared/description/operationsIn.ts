import type { OpenApi } from "effect/http-api"

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const

/** Every operation that a document describes. */
export const operationsIn = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<OpenApi.OpenAPISpecOperation> =>
  Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []))

/** The bodies that an operation takes and answers with, whatever their content type. */
export const bodiesOf = ({ requestBody, responses }: OpenApi.OpenAPISpecOperation) =>
  [requestBody?.content, ...Object.values(responses).map(({ content }) => content)].flatMap((content) =>
    Object.values(content ?? {}),
  )
