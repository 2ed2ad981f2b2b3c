/** The document at `/openapi.json`: generated from the API's schemas, with examples. */
import { STATUS_CODES } from "node:http"
import { SchemaAST, type SchemaRepresentation } from "effect"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { PROBLEM_CONTENT_TYPE } from "../../../domain/problems/problem.ts"
import { type Examples, showExample } from "./showExample.ts"
import { headersOf } from "./headers.ts"
import { operationsIn } from "./operationsIn.ts"
import { describeParameters } from "./parameters.ts"
import { codesOf, type JsonSchema, type JsonSchemas } from "./jsonSchemas.ts"
import { withoutCopies } from "./withoutCopies.ts"

const isProblem = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.some(({ name }) => name === "retryable")

/**
 * Names of schemas. Problems appear only in encoded form, so the suffix `Encoded` goes. JSON within a string is
 * inlined, because its identifier is that of the value in the string.
 */
const referencePolicy: SchemaRepresentation.ReferencePolicy = ({ ast, identifier }) => {
  if (isProblem(ast)) return identifier?.replace(/Encoded$/, "")
  return SchemaAST.isString(ast) ? undefined : identifier
}

const describeProblem = (schema: JsonSchema): void => {
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
