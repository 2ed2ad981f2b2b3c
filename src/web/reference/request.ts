/** A request that somebody composes: what the samples show and what is sent. */
import { exampleOf } from "./exampleOf.ts"
import type { Operation, Parameter, Schemas } from "./openApi.ts"

const JSON_TYPE = "application/json"

/** What was filled in for an operation. */
export interface Draft {
  /** By the parameter's place and name, see {@link keyOf}; empty where nothing was filled in. */
  readonly parameters: Readonly<Record<string, string>>
  /** Of the operations that take one, JSON. */
  readonly body: string | undefined
}

export interface Request {
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Whether it needs a bearer token, which is not part of it. */
  readonly needsToken: boolean
  readonly body: string | undefined
}

export const keyOf = ({ in: place, name }: Parameter): string => `${place} ${name}`

/** What to begin with as the body: the example that the description has, or a small one that its schema accepts. */
const firstBody = ({ requestBody }: Operation, schemas: Schemas): unknown => {
  const { example, schema } = requestBody?.content[JSON_TYPE] ?? {}
  return example ?? (schema === undefined ? undefined : exampleOf(schema, schemas))
}

export const needsToken = ({ security = [] }: Operation): boolean => security.length > 0

export const firstDraft = (operation: Operation, schemas: Schemas): Draft => {
  const body = firstBody(operation, schemas)
  return { parameters: {}, body: body === undefined ? undefined : JSON.stringify(body, undefined, 2) }
}

/** Parameters of the path that have no value yet, without which there is nothing to send. */
export const missingIn = ({ parameters = [] }: Operation, draft: Draft): ReadonlyArray<Parameter> =>
  parameters.filter((parameter) => parameter.in === "path" && (draft.parameters[keyOf(parameter)] ?? "") === "")

/** The request to the server at `base`. What is missing in its path stands there in capitals. */
export const requestOf = (operation: Operation, draft: Draft, base: string): Request => {
  const { method, parameters = [] } = operation
  const filled = (place: Parameter["in"]) =>
    parameters.flatMap((parameter) => {
      const value = draft.parameters[keyOf(parameter)] ?? ""
      return parameter.in === place && value !== "" ? [[parameter.name, value] as const] : []
    })
  const values = new Map(filled("path"))
  const path = operation.path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = values.get(name)
    return value === undefined ? name.toUpperCase() : encodeURIComponent(value)
  })
  const query = new URLSearchParams(filled("query").map(([name, value]) => [name, value])).toString()
  return {
    method,
    url: `${base}${path}${query === "" ? "" : `?${query}`}`,
    headers: [...filled("header"), ...(draft.body === undefined ? [] : [["content-type", JSON_TYPE] as const])],
    needsToken: needsToken(operation),
    body: draft.body,
  }
}
