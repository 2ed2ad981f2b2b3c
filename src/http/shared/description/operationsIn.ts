import type { OpenApi } from "effect/http-api"

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const

/** All operations of a document. */
export const operationsIn = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<OpenApi.OpenAPISpecOperation> =>
  Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []))

/** The bodies of an operation's request and responses, for all content types. */
export const bodiesOf = ({ requestBody, responses }: OpenApi.OpenAPISpecOperation) =>
  [requestBody?.content, ...Object.values(responses).map(({ content }) => content)].flatMap((content) =>
    Object.values(content ?? {}),
  )
