import { resolve, type Schema, type Schemas } from "./openApi.ts"
import { variantsOf } from "./schemaWords.ts"

const UUID = "01a20189-2d78-7781-9ee0-356bac85203e"

const exampleText = ({ format, maxLength, minLength = 0 }: Schema, name: string): string =>
  format === "uuid" ? UUID : name.padEnd(minLength, ".").slice(0, maxLength)

const exampleNumber = ({ exclusiveMinimum = -Infinity, maximum = Infinity, minimum = -Infinity }: Schema): number =>
  Math.min(Math.max(1, minimum, exclusiveMinimum + 1), maximum)

/** A small value that a schema accepts, to begin with: what is required and nothing else. `name` says what it is for. */
export const exampleOf = (unresolved: Schema, schemas: Schemas, name = "text"): unknown => {
  const schema = resolve(unresolved, schemas)
  if (schema.default !== undefined) return schema.default
  const [first = schema.enum?.[0]] = schema.examples ?? []
  if (first !== undefined) return first
  const [variant] = variantsOf(schema)
  if (variant !== undefined) return exampleOf(variant, schemas, name)
  switch ([schema.type].flat()[0]) {
    case "object": {
      const members = (schema.required ?? []).map((member) => [
        member,
        exampleOf(schema.properties?.[member] ?? {}, schemas, member),
      ])
      return Object.fromEntries(members)
    }
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => exampleOf(schema.items ?? {}, schemas, name))
    case "integer":
    case "number":
      return exampleNumber(schema)
    case "boolean":
      return false
    case "null":
      return null
    default:
      return exampleText(schema, name)
  }
}
