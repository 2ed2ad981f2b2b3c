import type { OpenApi } from "effect/http-api"
import { referenceTo } from "./jsonSchemas.ts"

/** The name of a copy, as in `Job_1` for a copy of `Job`. */
const COPY = /^(.+)_\d+$/

/**
 * Merges schemas with two names. The framework gives a schema a second name, such as `Job_1`, if it also occurs within
 * JSON in a string. Schemas that differ keep both names.
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
  // Only references were replaced, so it is still a document.
  return withoutCopies(JSON.parse(text.replaceAll(String(from), String(to))) as OpenApi.OpenAPISpec)
}
