/** The part of JSON Schema that the OpenAPI document uses. */

export interface JsonSchema {
  $ref?: string
  description?: string
  type?: string
  pattern?: string
  enum?: ReadonlyArray<unknown>
  not?: object
  required?: ReadonlyArray<string>
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: ReadonlyArray<JsonSchema>
  oneOf?: ReadonlyArray<JsonSchema>
  allOf?: ReadonlyArray<JsonSchema>
  prefixItems?: ReadonlyArray<JsonSchema>
  additionalProperties?: boolean | JsonSchema
  contentSchema?: JsonSchema
}

export type JsonSchemas = Readonly<Record<string, JsonSchema>>

/** How the document refers to a schema by its name. */
export const referenceTo = (name: string): string => `#/components/schemas/${name}`

/** The schemas directly within a schema, except those of its members. */
export const partsOf = (schema: JsonSchema): ReadonlyArray<JsonSchema> =>
  [
    schema.items,
    schema.contentSchema,
    schema.additionalProperties,
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
    ...(schema.prefixItems ?? []),
  ].filter((part) => typeof part === "object")

/** The problem codes of a response with this schema. */
export const codesOf = ({ $ref, anyOf, properties }: JsonSchema, schemas: JsonSchemas): ReadonlyArray<unknown> => {
  if (anyOf !== undefined) return anyOf.flatMap((schema) => codesOf(schema, schemas))
  if ($ref !== undefined) return codesOf(schemas[$ref.slice(referenceTo("").length)] ?? {}, schemas)
  return properties?.["code"]?.enum ?? []
}
