/** The document at `/openapi.json`: generated from the API's schemas, with examples. */
import { STATUS_CODES } from "node:http"
import { SchemaAST, type SchemaRepresentation } from "effect"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { PROBLEM_CONTENT_TYPE } from "../../../domain/problems/problem.ts"
import { type Examples, showExample } from "./showExample.ts"
import { headersOf } from "./headers.ts"
import { codesOf, type JsonSchemas, referenceTo, type SchemaObject } from "./jsonSchemas.ts"

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const

export const operationsIn = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<OpenApi.OpenAPISpecOperation> =>
  Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []))

/** The name of a copy, as in `Job_1` for a copy of `Job`. */
const COPY = /^(.+)_\d+$/

/** Merges copies such as `Job_1`, which the framework makes of a schema that also occurs within JSON in a string. */
const withoutCopies = (document: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  const { schemas } = document.components
  const copy = Object.keys(schemas).find((name) => {
    const original = COPY.exec(name)?.[1]
    return original !== undefined && JSON.stringify(schemas[name]) === JSON.stringify(schemas[original])
  })
  if (copy === undefined) return document
  const { [copy]: _, ...others } = schemas
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: others } })
  const [from, to] = [copy, copy.replace(COPY, "$1")].map((name) => JSON.stringify(referenceTo(name)))
  // Only references were replaced, so it is still a document.
  return withoutCopies(JSON.parse(text.replaceAll(String(from), String(to))) as OpenApi.OpenAPISpec)
}

/** The framework describes a number in a query or a header as a string; decoding checks its bounds. */
const isNumberText = ({ pattern, type }: SchemaObject): boolean =>
  type === "string" && pattern?.includes("[Ee]") === true

/** Moves descriptions from schemas to their parameters, and types whole numbers as such. */
const describeParameters = ({ parameters }: OpenApi.OpenAPISpecOperation): void => {
  for (const parameter of parameters) {
    const { allOf = [], description, ...schema }: SchemaObject = parameter.schema
    // `annotateKey` puts a description into `allOf`. Numbers need it, because encoding loses that of their schema.
    const said = description ?? allOf.find((part) => part.description !== undefined)?.description
    if (said !== undefined) parameter.description = said
    parameter.schema = isNumberText(schema) ? { type: "integer" } : schema
  }
}

const isProblem = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.some(({ name }) => name === "retryable")

/**
 * Names of schemas. Problems appear only in encoded form, so the suffix `Encoded` is dropped. JSON within a string is inlined,
 * because its identifier is that of the value in the string.
 */
const referencePolicy: SchemaRepresentation.ReferencePolicy = ({ ast, identifier }) => {
  if (isProblem(ast)) return identifier?.replace(/Encoded$/, "")
  return SchemaAST.isString(ast) ? undefined : identifier
}

const describeProblem = (schema: SchemaObject): void => {
  const { code, title, status } = schema.properties ?? {}
  if (code?.enum?.length !== 1 || title?.enum === undefined) return
  schema.description = String(title.enum[0])
  // Always sent.
  schema.required = [...new Set([...(schema.required ?? []), "title", ...(status === undefined ? [] : ["status"])])]
}

/** The OpenAPI document of `api`, with examples by operation id. */
export const descriptionOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  examples: Readonly<Record<string, Examples>>,
): OpenApi.OpenAPISpec => {
  const document = withoutCopies(OpenApi.fromApi(api, { referencePolicy }))
  const schemas: JsonSchemas = document.components.schemas
  for (const schema of Object.values(schemas)) {
    const { properties = {} } = schema
    // Removes members without possible values, which are never sent.
    for (const [name, { not }] of Object.entries(properties)) if (not !== undefined) delete properties[name]
    describeProblem(schema)
  }
  for (const operation of operationsIn(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const phrase = STATUS_CODES[status] ?? response.description
      const codes = codesOf(response.content?.[PROBLEM_CONTENT_TYPE]?.schema ?? {}, schemas)
      response.description = codes.length === 0 ? phrase : `${phrase}: ${codes.map((code) => `\`${code}\``).join(", ")}`
      response.headers = headersOf(status, response.headers ?? {})
    }
    describeParameters(operation)
    showExample(operation, examples[operation.operationId], schemas)
  }
  // The default, but some generators require it.
  return { ...document, servers: [{ url: "/" }] }
}
