/** What a schema says, in words. */
import { resolve, type Schema, type Schemas } from "./openApi.ts"

export const variantsOf = (schema: Schema): ReadonlyArray<Schema> => schema.anyOf ?? schema.oneOf ?? []

const isNull = (schema: Schema): boolean => schema.type === "null"

/** Something `undefined` or `{}` says nothing. */
const saysNothing = (schema: Schema): boolean => Object.keys(schema).length === 0

const isOpen = (values: Schema["additionalProperties"]): values is Schema => typeof values === "object"

/** The type, such as `integer`, `array of string` or `"hour" | "day"`. */
export const typeWords = (unresolved: Schema, schemas: Schemas): string => {
  const schema = resolve(unresolved, schemas)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ")
  const variants = variantsOf(schema)
  if (variants.length > 0) {
    return [...new Set(variants.map((variant) => typeWords(variant, schemas)))].join(" or ")
  }
  if (schema.type === "array") {
    const items = typeWords(schema.items ?? {}, schemas)
    return `array of ${/ or | \| /.test(items) ? `(${items})` : items}`
  }
  if (schema.type === "object" && schema.properties === undefined && isOpen(schema.additionalProperties)) {
    return `object of ${typeWords(schema.additionalProperties, schemas)}`
  }
  if (schema.contentSchema !== undefined) return `string of JSON: ${typeWords(schema.contentSchema, schemas)}`
  const type = [schema.type ?? "anything"].flat().join(" or ")
  return schema.format === undefined ? type : `${type} (${schema.format})`
}

/** Bounds that JavaScript's integers have anyway. */
const bound = (value: number | undefined): number | undefined =>
  value === undefined || Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value

const range = (minimum: number | undefined, maximum: number | undefined, unit = ""): ReadonlyArray<string> => {
  if (minimum !== undefined && maximum !== undefined) {
    return [`${minimum === maximum ? minimum : `${minimum} to ${maximum}`}${unit}`]
  }
  if (maximum !== undefined) return [`at most ${maximum}${unit}`]
  if (minimum === undefined || (unit !== "" && minimum === 0)) return []
  return [`at least ${minimum}${unit}`]
}

/** What holds beside the type, such as `1 to 200 characters`. */
export const boundsWords = (unresolved: Schema, schemas: Schemas): ReadonlyArray<string> => {
  const schema = resolve(unresolved, schemas)
  const { additionalProperties: values, propertyNames: names } = schema
  return [
    ...range(bound(schema.minimum), bound(schema.maximum)),
    ...(schema.exclusiveMinimum === undefined ? [] : [`above ${schema.exclusiveMinimum}`]),
    ...(schema.exclusiveMaximum === undefined ? [] : [`below ${schema.exclusiveMaximum}`]),
    ...range(schema.minLength, schema.maxLength, " characters"),
    ...range(schema.minItems, schema.maxItems, " items"),
    ...range(schema.minProperties, schema.maxProperties, " members"),
    ...(names === undefined ? [] : boundsWords(names, schemas).map((words) => `names of ${words}`)),
    ...(isOpen(values) && schema.properties === undefined
      ? boundsWords(values, schemas).map((words) => `values of ${words}`)
      : []),
    ...(schema.type === "array" ? boundsWords(schema.items ?? {}, schemas).map((words) => `each ${words}`) : []),
    // A format says better what its pattern says.
    ...(schema.pattern === undefined || schema.format !== undefined ? [] : [`matches ${schema.pattern}`]),
    ...(schema.default === undefined ? [] : [`${JSON.stringify(schema.default)} if left out`]),
    ...(schema.examples === undefined ? [] : [`such as ${schema.examples.map(String).join(", ")}`]),
  ]
}

type Inside =
  | { readonly type: "members"; readonly schema: Schema }
  | { readonly type: "forms"; readonly forms: ReadonlyArray<Schema> }

/** What has to be told of a schema beside its type: the members of its objects, or the forms that it may take. */
export const insideOf = (unresolved: Schema, schemas: Schemas): Inside | undefined => {
  const schema = resolve(unresolved, schemas)
  const variants = variantsOf(schema).filter((variant) => !isNull(resolve(variant, schemas)))
  const [only] = variants
  if (only !== undefined) {
    if (variants.length === 1) return insideOf(only, schemas)
    return variants.some((variant) => insideOf(variant, schemas) !== undefined)
      ? { type: "forms", forms: variants }
      : undefined
  }
  if (schema.properties !== undefined) return { type: "members", schema }
  if (schema.contentSchema !== undefined) return insideOf(schema.contentSchema, schemas)
  if (schema.items !== undefined) return insideOf(schema.items, schemas)
  return isOpen(schema.additionalProperties) ? insideOf(schema.additionalProperties, schemas) : undefined
}

/** Whether an object may have members that its schema does not name. */
export const takesMore = ({ additionalProperties }: Schema): boolean =>
  additionalProperties === true || (isOpen(additionalProperties) && saysNothing(additionalProperties))

/** What tells a form from the others: members that are always the same, or those that it cannot do without. */
export const formWords = (unresolved: Schema, schemas: Schemas): string => {
  const { properties = {}, required = [], ...schema } = resolve(unresolved, schemas)
  const fixed = Object.entries(properties).flatMap(([name, member]) => {
    const { enum: values } = resolve(member, schemas)
    return values?.length === 1 ? [`${name}: ${JSON.stringify(values[0])}`] : []
  })
  if (fixed.length > 0) return fixed.join(", ")
  return required.length > 0 ? `with ${required.join(", ")}` : typeWords(schema, schemas)
}
