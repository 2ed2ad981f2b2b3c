/** Examples of requests and responses in the OpenAPI document. */
import type { OpenApi } from "effect/http-api"
import { PROBLEM_CONTENT_TYPE } from "../../../domain/problems/problem.ts"
import { type JsonSchemas, referenceTo, type SchemaObject } from "./jsonSchemas.ts"

/** One exchange with an operation, in encoded form. */
export interface Examples {
  /** Values by name of the parameter. */
  readonly parameters?: Readonly<Record<string, string | number>>
  readonly body?: unknown
  /** Body of a successful JSON response; `stream` is that of an event stream, `csv` that of CSV. */
  readonly answer?: unknown
  readonly stream?: unknown
  readonly csv?: string
}

/** Members of {@link Examples} for content types other than JSON. */
const SPECIAL: Readonly<Record<string, "stream" | "csv">> = { "text/event-stream": "stream", "text/csv": "csv" }

/** The problem that a schema describes, or the first of several. */
const problemIn = ({ $ref, anyOf, properties }: SchemaObject, schemas: JsonSchemas): object => {
  if (anyOf !== undefined) return problemIn(anyOf[0] ?? {}, schemas)
  if ($ref !== undefined) return problemIn(schemas[$ref.slice(referenceTo("").length)] ?? {}, schemas)
  const fixed = Object.entries(properties ?? {}).flatMap(([name, { enum: values }]) =>
    values === undefined ? [] : [[name, values[0]] as const],
  )
  return Object.fromEntries(fixed)
}

/** Adds `examples` to `operation`, and an example to every problem. */
export const showExample = (
  operation: OpenApi.OpenAPISpecOperation,
  examples: Examples = {},
  schemas: JsonSchemas = {},
): void => {
  for (const parameter of operation.parameters) {
    const example = examples.parameters?.[parameter.name]
    if (example !== undefined) Object.assign(parameter, { example })
  }
  for (const media of Object.values(operation.requestBody?.content ?? {})) {
    Object.assign(media, { example: examples.body })
  }
  for (const [status, { content = {} }] of Object.entries(operation.responses)) {
    for (const [type, media] of Object.entries(content)) {
      if (type === PROBLEM_CONTENT_TYPE) {
        if (status !== "200") Object.assign(media, { example: problemIn(media.schema, schemas) })
      } else if (status.startsWith("2")) {
        Object.assign(media, { example: examples[SPECIAL[type] ?? "answer"] })
      }
    }
  }
}
