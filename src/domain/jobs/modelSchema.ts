/**
 * Schemas of tools in a form that all providers take. Because of one refused schema, each request that offers it fails.
 *
 * OpenAI refuses schemas without `properties` (https://github.com/openai/openai-agents-python/pull/454) and, at the root,
 * `oneOf`, `anyOf`, `allOf`, `enum`, `const` and `not` (https://github.com/goruck/home-generative-agent/pull/545).
 * Anthropic refuses the first three there (https://github.com/marianfoo/mcp-sap-docs/pull/51), and properties of the root
 * with other names than {@link PROPERTY} (https://github.com/decocms/studio/pull/6874).
 */
import { Result } from "effect"
import { isObject, type JsonObject } from "../json/json.ts"

const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/
const MAX_SHOWN = 100

/** Members of the root that models get in another form or not at all. */
const REPLACED = /^(?:properties|required|\$ref|oneOf|anyOf|allOf|enum|const|not)$/

const NONE: ReadonlySet<string> = new Set()

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The target of a JSON Pointer in a fragment (RFC 6901 §6) within `root`; `undefined` for an anchor. */
const targetOf = (root: JsonObject, reference: unknown): unknown => {
  const fragment = typeof reference === "string" ? decodedOf(reference) : undefined
  const [start, ...parts] = fragment?.split("/") ?? []
  if (start !== "#") return undefined
  return parts.reduce<unknown>((target, part) => {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof target === "object" && target !== null && Object.hasOwn(target, name)
      ? Reflect.get(target, name)
      : undefined
  }, root)
}

/** `undefined` for text that is not percent-encoded UTF-8. */
const decodedOf = (text: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => decodeURIComponent(text)))

/**
 * The alternatives for each property. Of the schemas that all hold, the first that describes a property does so alone.
 * Each schema is read once, however many references lead to it.
 */
const propertiesOf = (root: JsonObject): ReadonlyMap<string, ReadonlySet<unknown>> => {
  const properties = new Map<string, Set<unknown>>()
  const seen = new Set<unknown>()
  const holding: Array<unknown> = [root]
  const possible: Array<unknown> = []
  const visit = (schema: unknown, parts: Array<unknown>, described: Pick<ReadonlySet<string>, "has">) => {
    if (!isObject(schema) || seen.has(schema)) return
    seen.add(schema)
    const { $ref, allOf, anyOf, oneOf, properties: own } = schema
    for (const [name, member] of isObject(own) ? Object.entries(own) : []) {
      if (!described.has(name)) properties.set(name, (properties.get(name) ?? new Set()).add(member))
    }
    parts.push(targetOf(root, $ref), ...listOf(allOf))
    possible.push(...listOf(anyOf), ...listOf(oneOf))
  }
  // `visit` adds to the lists that are being iterated.
  for (const schema of holding) visit(schema, holding, properties)
  const described = new Set(properties.keys())
  for (const schema of possible) visit(schema, possible, described)
  return properties
}

/** The properties that are required whichever alternatives hold. */
const requiredOf = (root: JsonObject): ReadonlySet<string> => {
  // Each schema is read once, however many references lead to it. One within itself requires nothing.
  const known = new Map<unknown, ReadonlySet<string>>()
  const read = (schema: unknown): ReadonlySet<string> => {
    if (!isObject(schema)) return NONE
    const before = known.get(schema)
    if (before !== undefined) return before
    known.set(schema, NONE)
    const { $ref, allOf, anyOf, oneOf, required } = schema
    const names = union([
      new Set(listOf(required).filter((name) => typeof name === "string")),
      ...[targetOf(root, $ref), ...listOf(allOf)].map(read),
      ...[anyOf, oneOf].map((schemas) => intersection(listOf(schemas).map(read))),
    ])
    known.set(schema, names)
    return names
  }
  return read(root)
}

/** Returns the set itself if there is one only, so that {@link intersection} finds equal ones. */
const union = (sets: ReadonlyArray<ReadonlySet<string>>): ReadonlySet<string> => {
  const [first = NONE, ...others] = new Set(sets.filter(({ size }) => size > 0))
  return others.length === 0 ? first : new Set([first, ...others].flatMap((names) => [...names]))
}

const intersection = (sets: ReadonlyArray<ReadonlySet<string>>): ReadonlySet<string> => {
  const [first = NONE, ...others] = new Set(sets)
  return others.length === 0 ? first : new Set([...first].filter((name) => others.every((names) => names.has(name))))
}

const FOLDED = /^#\/(?:oneOf|anyOf|allOf|not)(?:\/|$)/

/** Drops references into members that were removed. */
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
 * folded. It only guides models, so it may be looser than the original, against which the tool's input is checked. It
 * requires no property that the original does not require. If several alternatives describe a property, it keeps those
 * descriptions, even if another alternative allows any value.
 */
export const modelSchemaOf = (schema: JsonObject): JsonObject & { readonly properties: JsonObject } => {
  const required = requiredOf(schema)
  const others = Object.entries(schema).filter(([name]) => !REPLACED.test(name))
  return {
    ...Object.fromEntries(others.map(([name, member]) => [name, withoutLost(member)])),
    properties: Object.fromEntries([...propertiesOf(schema)].map(([name, schemas]) => [name, propertyOf(schemas)])),
    ...(required.size === 0 ? {} : { required: [...required] }),
  }
}

/** Returns the mistake in the names of a tool's properties; `undefined` if all providers take them. */
export const propertyNameMistake = (schema: JsonObject): string | undefined => {
  const refused = propertiesOf(schema)
    .keys()
    .find((name) => !PROPERTY.test(name))
  return refused === undefined
    ? undefined
    : `name each property with 1 to 64 letters, digits, underscores, dots or hyphens, unlike ${JSON.stringify(refused.slice(0, MAX_SHOWN))}; Anthropic refuses others`
}
