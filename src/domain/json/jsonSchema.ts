/** JSON Schema for people's answers. No patterns or references, so a schema that a model wrote cannot be costly. */
import { isObject } from "./json.ts"
import type { ProblemIssue } from "../problems/problemTypes.ts"

export type JsonSchema = Readonly<Record<string, unknown>>

/** Maximum number of values of an `enum`, or names in `required`. */
const MAX_CHOICES = 256
const MAX_LEVELS = 16

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"] as const
type Type = (typeof TYPES)[number]

/** Keywords that are checked, and what their value must be. */
const KEYWORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => typesOf(value) !== undefined,
  enum: (value) => isShort(value) && value.length > 0 && value.every(isScalar),
  const: (value) => isScalar(value),
  properties: (value) => isObject(value) && Object.values(value).every(isObject),
  // A repeated name would be looked up again in every object.
  required: (value) => isShort(value) && value.every(isText) && new Set(value).size === value.length,
  additionalProperties: (value) => typeof value === "boolean",
  items: isObject,
  ...Object.fromEntries(
    ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"].map((name) => [name, Number.isFinite]),
  ),
}
const IGNORED: ReadonlySet<string> = new Set(["title", "description", "default", "examples", "format", "$schema"])

const isShort = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value) && value.length <= MAX_CHOICES
const isText = (value: unknown): boolean => typeof value === "string"
const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null

const typesOf = (value: unknown): ReadonlyArray<Type> | undefined => {
  const named: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  const types = TYPES.filter((type) => named.includes(type))
  return types.length === named.length && types.length > 0 ? types : undefined
}

/** Returns what is wrong with a schema; `undefined` if values can be checked against it. */
export const jsonSchemaMistake = (schema: JsonSchema): string | undefined => mistakeAt(schema, 1)

const mistakeAt = (schema: JsonSchema, level: number): string | undefined => {
  if (level > MAX_LEVELS) return `nest at most ${MAX_LEVELS} levels`
  for (const [name, value] of Object.entries(schema)) {
    if (IGNORED.has(name)) continue
    const isValid = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined
    if (isValid === undefined) return `use only the keywords ${Object.keys(KEYWORDS).join(", ")}`
    if (!isValid(value)) return `correct the value of "${name}"`
  }
  const { items, properties } = schema
  const parts = [...(isObject(items) ? [items] : []), ...(isObject(properties) ? Object.values(properties) : [])]
  return parts
    .map((part) => (isObject(part) ? mistakeAt(part, level + 1) : undefined))
    .find((mistake) => mistake !== undefined)
}

const typeOf = (value: unknown): Type => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  const type = typeof value
  return type === "string" || type === "boolean" || type === "number" ? type : "object"
}

const hasType = (value: unknown, type: Type): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOf(value) === type

/** Reported at most; a long array can have thousands. */
const MAX_MISFITS = 64

/** Where a value does not fit a schema. The schema must have passed {@link jsonSchemaMistake}. */
export const misfits = (schema: JsonSchema, value: unknown, path: string): ReadonlyArray<ProblemIssue> => {
  const found: Array<ProblemIssue> = []
  check(schema, value, path, found)
  return found.slice(0, MAX_MISFITS)
}

const check = (schema: JsonSchema, value: unknown, path: string, found: Array<ProblemIssue>): void => {
  if (found.length >= MAX_MISFITS) return
  const says = (isWrong: boolean, message: string) => {
    if (isWrong) found.push({ path, message })
  }
  const limit = (name: string, otherwise: number) => (typeof schema[name] === "number" ? schema[name] : otherwise)
  const types = typesOf(schema["type"])
  if (types !== undefined && !types.some((type) => hasType(value, type))) {
    return says(true, `must be ${types.join(" or ")}`)
  }
  if (!isChosen(schema, value)) found.push({ path, message: `must be ${shownChoices(schema)}` })
  if (typeof value === "number") {
    says(value < limit("minimum", -Infinity), `must be at least ${limit("minimum", 0)}`)
    says(value > limit("maximum", Infinity), `must be at most ${limit("maximum", 0)}`)
  } else if (typeof value === "string") {
    const { length } = [...value]
    says(length < limit("minLength", 0), `must have at least ${limit("minLength", 0)} characters`)
    says(length > limit("maxLength", Infinity), `must have at most ${limit("maxLength", 0)} characters`)
  } else if (Array.isArray(value)) {
    says(value.length < limit("minItems", 0), `must have at least ${limit("minItems", 0)} items`)
    says(value.length > limit("maxItems", Infinity), `must have at most ${limit("maxItems", 0)} items`)
    const { items } = schema
    if (isObject(items)) value.forEach((item, index) => check(items, item, `${path}.${index}`, found))
  } else if (isObject(value)) checkMembers(schema, value, path, found)
}

const choicesOf = (schema: JsonSchema): ReadonlyArray<unknown> | undefined =>
  Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : undefined

/** Choices by their schema: every item of a list is looked up among the same ones. */
const sets = new WeakMap<JsonSchema, ReadonlySet<unknown>>()

const isChosen = (schema: JsonSchema, value: unknown): boolean => {
  const choices = choicesOf(schema)
  if (choices === undefined) return true
  const set = sets.get(schema) ?? new Set(choices)
  sets.set(schema, set)
  return set.has(value)
}

const MAX_SHOWN = 500
const shownChoices = (schema: JsonSchema): string => {
  const text =
    choicesOf(schema)
      ?.map((each) => JSON.stringify(each))
      .join(" or ") ?? ""
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

const checkMembers = (
  schema: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  path: string,
  found: Array<ProblemIssue>,
): void => {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {}
  const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
  for (const name of required) {
    if (found.length >= MAX_MISFITS) return
    if (!Object.hasOwn(value, String(name))) found.push({ path: `${path}.${String(name)}`, message: "is missing" })
  }
  for (const [name, member] of Object.entries(value)) {
    const part = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (isObject(part)) check(part, member, `${path}.${name}`, found)
    else if (schema["additionalProperties"] === false)
      found.push({ path: `${path}.${name}`, message: "is not expected" })
  }
}
