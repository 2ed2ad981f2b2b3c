/** The part of JSON Schema that the OpenAPI document uses. */

export interface SchemaObject {
  $ref?: string
  description?: string
  type?: string
  pattern?: string
  enum?: ReadonlyArray<unknown>
  not?: object
  required?: ReadonlyArray<string>
  properties?: Record<string, SchemaObject>
  items?: SchemaObject
  anyOf?: ReadonlyArray<SchemaObject>
  oneOf?: ReadonlyArray<SchemaObject>
  allOf?: ReadonlyArray<SchemaObject>
  prefixItems?: ReadonlyArray<SchemaObject>
  additionalProperties?: boolean | SchemaObject
  contentSchema?: SchemaObject
}

export type JsonSchemas = Readonly<Record<string, SchemaObject>>

export const referenceTo = (name: string): string => `#/components/schemas/${name}`

/** The schemas directly within a schema, except those of its members. */
export const partsOf = (schema: SchemaObject): ReadonlyArray<SchemaObject> =>
  [
    schema.items,
    schema.contentSchema,
    schema.additionalProperties,
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
    ...(schema.prefixItems ?? []),
  ].filter((part) => typeof part === "object")

export const codesOf = ({ $ref, anyOf, properties }: SchemaObject, schemas: JsonSchemas): ReadonlyArray<unknown> => {
  if (anyOf !== undefined) return anyOf.flatMap((schema) => codesOf(schema, schemas))
  if ($ref !== undefined) return codesOf(schemas[$ref.slice(referenceTo("").length)] ?? {}, schemas)
  return properties?.["code"]?.enum ?? []
}
