/** The document at `/openapi.json`: generated from the API's types, with descriptions and examples for people added. */
import { STATUS_CODES } from "node:http"
import { SchemaAST, type SchemaRepresentation } from "effect"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { PROBLEM_CONTENT_TYPE } from "../../../domain/problems/problem.ts"
import { type Examples, showExample } from "./showExample.ts"
import { headersOf } from "./headers.ts"
import { describeMembers, describeParameters, type Glossary } from "./describeMembers.ts"
import { operationsIn } from "./operationsIn.ts"
import { codesOf, type JsonSchema, type JsonSchemas } from "./jsonSchemas.ts"
import { withoutCopies } from "./withoutCopies.ts"

/** What is added to an API's types. */
export interface Words {
  /** What members and parameters mean. */
  readonly glossary: Glossary
  /** By the id of the operation. */
  readonly examples: Readonly<Record<string, Examples>>
}

const isProblem = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.some(({ name }) => name === "retryable")

/**
 * A problem is described only in its encoded form, so its name need not say that. A schema of JSON within a string
 * stays where it is, because its name is that of the value in the string.
 */
const referencePolicy: SchemaRepresentation.ReferencePolicy = ({ ast, identifier }) => {
  if (isProblem(ast)) return identifier?.replace(/Encoded$/, "")
  return SchemaAST.isString(ast) ? undefined : identifier
}

const describeProblem = (schema: JsonSchema): void => {
  const { code, title, status } = schema.properties ?? {}
  if (code?.enum?.length !== 1 || title?.enum === undefined) return
  schema.description = String(title.enum[0])
  // They are the same each time, and always sent.
  schema.required = [...new Set([...(schema.required ?? []), "title", ...(status === undefined ? [] : ["status"])])]
}

/** The OpenAPI document of `api`. */
export const descriptionOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  { examples, glossary }: Words,
): OpenApi.OpenAPISpec => {
  const document = withoutCopies(OpenApi.fromApi(api, { referencePolicy }))
  const schemas: JsonSchemas = document.components.schemas
  for (const schema of Object.values(schemas)) {
    const { properties = {} } = schema
    // Members whose schema allows no value are removed, because they are never sent.
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
    describeParameters(operation, glossary)
    showExample(operation, examples[operation.operationId], schemas)
  }
  describeMembers(document, glossary)
  // Stated although it is the default, because some generators insist on it.
  return { ...document, servers: [{ url: "/" }] }
}
