/** What the page reads of an OpenAPI 3.1 document. */

/** A JSON Schema, as far as the page puts it into words. */
export interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly pattern?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly default?: unknown
  readonly examples?: ReadonlyArray<unknown>
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | Schema
  readonly propertyNames?: Schema
  readonly items?: Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
  /** Of a string that is JSON itself. */
  readonly contentSchema?: Schema
}

interface MediaType {
  readonly schema?: Schema
  readonly example?: unknown
}

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
  readonly example?: unknown
}

export interface ResponseObject {
  readonly description?: string
  readonly headers?: Readonly<Record<string, Omit<Parameter, "name" | "in">>>
  readonly content?: Readonly<Record<string, MediaType>>
}

interface OperationObject {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string
  readonly description?: string
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>>; readonly required?: boolean }
  readonly responses: Readonly<Record<string, ResponseObject>>
  readonly security?: ReadonlyArray<object>
}

export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}

export interface Operation extends OperationObject {
  /** In capitals, as it is sent. */
  readonly method: string
  readonly path: string
}

export interface Group {
  readonly name: string
  readonly operations: ReadonlyArray<Operation>
}

/** All operations, in the groups and in the order in which the document has them. */
export const groupsOf = ({ paths, tags }: Document): ReadonlyArray<Group> => {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
  return tags.map(({ name }) => ({ name, operations: operations.filter(({ tags }) => tags.includes(name)) }))
}

/** What of `groups` has every word of `text` somewhere in its name, path or description. */
export const filterGroups = (groups: ReadonlyArray<Group>, text: string): ReadonlyArray<Group> => {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  const matches = (group: string, { description, method, path, summary }: Operation): boolean => {
    const said = [group, method, path, summary, description].join(" ").toLowerCase()
    return words.every((word) => said.includes(word))
  }
  return groups
    .map(({ name, operations }) => ({ name, operations: operations.filter((operation) => matches(name, operation)) }))
    .filter(({ operations }) => operations.length > 0)
}

export type Schemas = Document["components"]["schemas"]

/** The schema itself where `schema` is a reference, with what it is composed of taken together. */
export const resolve = (schema: Schema, schemas: Schemas): Schema => {
  const target = schema.$ref === undefined ? schema : schemas[schema.$ref.slice("#/components/schemas/".length)]
  if (target === undefined) return {}
  const { allOf = [], ...rest } = target
  return Object.assign(rest, ...allOf.map((part) => resolve(part, schemas)))
}
