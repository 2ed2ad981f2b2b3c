/** What `/openapi.json` says: what the API's types say, in the words of HTTP. */
import { STATUS_CODES } from "node:http"
import { SchemaAST, type SchemaRepresentation } from "effect"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { PROBLEM_CONTENT_TYPE } from "../../domain/problem.ts"

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const

/** Every operation that a document describes. */
export const operationsIn = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<OpenApi.OpenAPISpecOperation> =>
  Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []))

/** As far as it is looked at here. */
interface JsonSchema {
  readonly $ref?: string
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly properties?: Record<string, { readonly enum?: ReadonlyArray<unknown>; readonly not?: object }>
}

/** The codes of the problems that an answer with this schema may be. */
const codesOf = (
  { $ref, anyOf, properties }: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
): ReadonlyArray<unknown> => {
  if (anyOf !== undefined) return anyOf.flatMap((schema) => codesOf(schema, schemas))
  if ($ref !== undefined) return codesOf(schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}, schemas)
  return properties?.["code"]?.enum ?? []
}

/** A problem is described as it is on the wire alone, so that this need not be part of its name. */
const referencePolicy: SchemaRepresentation.ReferencePolicy = ({ ast, identifier }) =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.some(({ name }) => name === "retryable")
    ? identifier?.replace(/Encoded$/, "")
    : identifier

/** The OpenAPI document of `api`. */
export const descriptionOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): OpenApi.OpenAPISpec => {
  const document = OpenApi.fromApi(api, { referencePolicy })
  const schemas: Readonly<Record<string, JsonSchema>> = document.components.schemas
  for (const { properties = {} } of Object.values(schemas)) {
    // What never is on the wire, neither.
    for (const [name, { not }] of Object.entries(properties)) if (not !== undefined) delete properties[name]
  }
  for (const { responses } of operationsIn(document)) {
    for (const [status, response] of Object.entries(responses)) {
      const phrase = STATUS_CODES[status] ?? response.description
      const codes = codesOf(response.content?.[PROBLEM_CONTENT_TYPE]?.schema ?? {}, schemas)
      response.description = codes.length === 0 ? phrase : `${phrase}: ${codes.map((code) => `\`${code}\``).join(", ")}`
    }
  }
  // Stated although it is what is meant without it: some generators insist on it.
  return { ...document, servers: [{ url: "/" }] }
}
