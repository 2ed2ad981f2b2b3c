/** Adds descriptions to members and parameters. Most names mean the same wherever they stand. */
import type { OpenApi } from "effect/http-api"
import { bodiesOf, operationsIn } from "./operationsIn.ts"
import { type JsonSchema, partsOf } from "./jsonSchemas.ts"

/**
 * By the name of a member or of a parameter, or by `owner.name` where it means something else there. The owner is the
 * schema's name, the member that the object is the value of, or the operation's id.
 */
export type Glossary = Readonly<Record<string, string>>

const wordsFor = (owner: string, name: string, glossary: Glossary): string | undefined =>
  glossary[`${owner}.${name}`] ?? glossary[name]

/** Siblings of `$ref` are part of a schema in OpenAPI 3.1. */
const describe = (schema: JsonSchema, words: string | undefined): void => {
  if (words !== undefined) schema.description ??= words
}

const describeWithin = (schema: JsonSchema, owner: string, glossary: Glossary): void => {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    describeWithin(member, name, glossary)
    describe(member, wordsFor(owner, name, glossary))
  }
  for (const part of partsOf(schema)) describeWithin(part, owner, glossary)
}

/** Describes the members of every schema in `document`. */
export const describeMembers = (document: OpenApi.OpenAPISpec, glossary: Glossary): void => {
  const schemas: Readonly<Record<string, JsonSchema>> = document.components.schemas
  for (const [name, schema] of Object.entries(schemas)) {
    describeWithin(schema, schema.properties?.["retryable"] === undefined ? name : "Problem", glossary)
  }
  for (const operation of operationsIn(document)) {
    for (const { schema } of bodiesOf(operation)) describeWithin(schema, operation.operationId, glossary)
  }
}

/** The framework describes a number in a query or a header as a string; its bounds are checked when it is decoded. */
const isNumberText = ({ pattern, type }: JsonSchema): boolean => type === "string" && pattern?.includes("[Ee]") === true

/** Adds descriptions to the parameters of `operation`, and types to those that are whole numbers. */
export const describeParameters = (operation: OpenApi.OpenAPISpecOperation, glossary: Glossary): void => {
  for (const parameter of operation.parameters) {
    if (isNumberText(parameter.schema)) parameter.schema = { type: "integer" }
    const words = wordsFor(operation.operationId, parameter.name, glossary)
    if (words !== undefined) parameter.description = words
  }
}
