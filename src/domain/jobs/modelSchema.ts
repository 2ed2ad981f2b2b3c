/**
 * Schemas of tools in a form that all providers take. Because of one refused schema, each request that offers it fails.
 *
 * OpenAI refuses schemas without `properties` (https://github.com/openai/openai-agents-python/pull/454) and, at the root,
 * `oneOf`, `anyOf`, `allOf`, `enum`, `const` and `not` (https://github.com/goruck/home-generative-agent/pull/545).
 * Anthropic refuses the first three there (https://github.com/marianfoo/mcp-sap-docs/pull/51), and properties of the root
 * with other names than {@link PROPERTY} (https://github.com/decocms/studio/pull/6874).
 */
import { isObject, type JsonObject } from "../json/json.ts"

const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/
const MAX_SHOWN = 100

/** Members of the root that models get in another form, or not. */
const REPLACED = /^(?:properties|required|\$ref|oneOf|anyOf|allOf|enum|const|not)$/

/** What a schema says of an object: the alternatives for each property, and the properties that it requires. */
interface Parts {
  readonly properties: ReadonlyMap<string, ReadonlySet<unknown>>
  readonly required: ReadonlySet<string>
}

const NOTHING: Parts = { properties: new Map(), required: new Set() }

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const ownParts = ({ properties, required }: JsonObject): Parts => ({
  properties: new Map(
    isObject(properties) ? Object.entries(properties).map(([name, schema]) => [name, new Set([schema])]) : [],
  ),
  required: new Set(listOf(required).filter((name) => typeof name === "string")),
})

/** Parts of which all hold. The first that describes a property does so alone. */
const all = (parts: ReadonlyArray<Parts>): Parts => {
  const properties = new Map<string, ReadonlySet<unknown>>()
  for (const [name, schemas] of parts.flatMap((part) => [...part.properties])) {
    if (!properties.has(name)) properties.set(name, schemas)
  }
  return { properties, required: new Set(parts.flatMap(({ required }) => [...required])) }
}

/** Parts of which one holds. */
const either = ([first = NOTHING, ...others]: ReadonlyArray<Parts>): Parts =>
  others.reduce((a, b) => {
    const properties = new Map(a.properties)
    for (const [name, schemas] of b.properties) properties.set(name, new Set(properties.get(name)).union(schemas))
    return { properties, required: a.required.intersection(b.required) }
  }, first)

/** The target of a reference within `root`, a JSON Pointer (RFC 6901). */
const targetOf = (root: JsonObject, reference: unknown): unknown => {
  const parts = typeof reference === "string" ? reference.split("/").slice(1) : []
  return parts.reduce<unknown>((target, part) => {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof target === "object" && target !== null && Object.hasOwn(target, name)
      ? Reflect.get(target, name)
      : undefined
  }, root)
}

const partsOf = (root: JsonObject): Parts => {
  // Each schema is read once, however many references lead to it. One within itself says nothing.
  const known = new Map<unknown, Parts>()
  const read = (schema: unknown): Parts => {
    if (!isObject(schema)) return NOTHING
    const before = known.get(schema)
    if (before !== undefined) return before
    known.set(schema, NOTHING)
    const { $ref, allOf, anyOf, oneOf } = schema
    const parts = all([
      ownParts(schema),
      ...[targetOf(root, $ref), ...listOf(allOf)].map(read),
      ...[anyOf, oneOf].map((schemas) => either(listOf(schemas).map(read))),
    ])
    known.set(schema, parts)
    return parts
  }
  return read(root)
}

const FOLDED = /^#\/(?:oneOf|anyOf|allOf|not)(?:\/|$)/

/** Drops references to what is no longer there. */
const withoutLost = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutLost)
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(
    ([name, member]) => name !== "$ref" || typeof member !== "string" || !FOLDED.test(member),
  )
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutLost(member)]))
}

const propertyOf = (alternatives: ReadonlySet<unknown>): unknown => {
  const distinct = new Map([...alternatives].map((schema) => [JSON.stringify(schema), withoutLost(schema)]))
  const [first, ...others] = distinct.values()
  return others.length === 0 ? first : { anyOf: [first, ...others] }
}

/**
 * Returns the schema of a tool's input for models: an object with `properties`, into which the root's compositions are
 * folded. It guides models and demands less than the given one, which the tool checks.
 */
export const modelSchemaOf = (schema: JsonObject): JsonObject & { readonly properties: JsonObject } => {
  const { properties, required } = partsOf(schema)
  const others = Object.entries(schema).filter(([name]) => !REPLACED.test(name))
  return {
    ...Object.fromEntries(others.map(([name, member]) => [name, withoutLost(member)])),
    properties: Object.fromEntries([...properties].map(([name, schemas]) => [name, propertyOf(schemas)])),
    ...(required.size === 0 ? {} : { required: [...required] }),
  }
}

/** Returns what is wrong with the names of a tool's properties; `undefined` if all providers take them. */
export const propertyNameMistake = (schema: JsonObject): string | undefined => {
  const refused = Object.keys(modelSchemaOf(schema).properties).find((name) => !PROPERTY.test(name))
  return refused === undefined
    ? undefined
    : `name each property with 1 to 64 letters, digits, underscores, dots or hyphens, unlike ${JSON.stringify(refused.slice(0, MAX_SHOWN))}; Anthropic refuses others`
}
