import type { OpenApi } from "effect/http-api"
import { referenceTo } from "./jsonSchemas.ts"

/** The name of a copy, as in `Job_1` for a copy of `Job`. */
const COPY = /^(.+)_\d+$/

/**
 * The same document with one name for each schema. The framework gives a schema a second name when it also occurs
 * within JSON in a string. A schema that differs from the one whose name it has keeps its second name.
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
  // It is still the document: only references were replaced.
  return withoutCopies(JSON.parse(text.replaceAll(String(from), String(to))) as OpenApi.OpenAPISpec)
}
