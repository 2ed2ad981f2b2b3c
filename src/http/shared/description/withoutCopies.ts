import type { OpenApi } from "effect/http-api"
import { referenceTo } from "./jsonSchemas.ts"

/** `Job_1` is a copy of `Job`. */
const COPY = /^(.+)_\d+$/

/**
 * The same document, in which every schema has one name. The framework gives a schema a second one when it stands also
 * within JSON that is a string. What differs from the schema whose name it has keeps the second name.
 */
export const withoutCopies = (document: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  const { schemas } = document.components
  const copy = Object.keys(schemas).find((name) => {
    const original = COPY.exec(name)?.[1]
    return original !== undefined && JSON.stringify(schemas[name]) === JSON.stringify(schemas[original])
  })
  if (copy === undefined) return document
  const { [copy]: _, ...others } = schemas
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: others } })
  const [from, to] = [copy, copy.replace(COPY, "$1")].map((name) => JSON.stringify(referenceTo(name)))
  // It is the document, whose references to one name are to another now.
  return withoutCopies(JSON.parse(text.replaceAll(String(from), String(to))) as OpenApi.OpenAPISpec)
}
