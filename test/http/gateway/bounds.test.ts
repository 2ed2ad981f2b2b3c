/** Every member of a request is bounded, so work does not grow with the largest body. */
import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { GatewayApi } from "../../../src/api/gateway/GatewayApi.ts"

const document = OpenApi.fromApi(GatewayApi)

/** Tasks and conversations are bounded only by the body's limit. */
const BY_THE_BODY = /\.(task|messages)$/

const member = (value: unknown, name: string): unknown => (Predicate.isObject(value) ? value[name] : undefined)
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The paths of all unbounded texts and lists in a JSON Schema. */
const unbounded = (schema: unknown, path: string): ReadonlyArray<string> => {
  if (!Predicate.isObject(schema) || BY_THE_BODY.test(path)) return []
  const reference = member(schema, "$ref")
  if (typeof reference === "string") {
    return unbounded(reference.slice("#/".length).split("/").reduce<unknown>(member, document), path)
  }
  const alternatives = [...listOf(member(schema, "anyOf")), ...listOf(member(schema, "oneOf"))]
  if (alternatives.length > 0) return alternatives.flatMap((alternative) => unbounded(alternative, path))
  const parts = [schema, ...listOf(member(schema, "allOf"))]
  const says = (...names: ReadonlyArray<string>) =>
    parts.some((part) => names.some((name) => member(part, name) !== undefined))
  switch (member(schema, "type")) {
    case "string":
      return says("maxLength", "pattern", "format", "enum", "const") ? [] : [path]
    case "array":
      return [...(says("maxItems") ? [] : [path]), ...unbounded(member(schema, "items"), `${path}[]`)]
    case "object": {
      const rest = member(schema, "additionalProperties")
      return [
        ...(rest === false || says("maxProperties") ? [] : [path]),
        ...unbounded(rest, `${path}.*`),
        ...Object.entries(member(schema, "properties") ?? {}).flatMap(([name, property]) =>
          unbounded(property, `${path}.${name}`),
        ),
      ]
    }
    default:
      return []
  }
}

describe("the gateway's API", () => {
  it("bounds every text and list of a body or a query", () => {
    const found = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, operation]) => {
        const content = member(member(operation, "requestBody"), "content")
        const queries = listOf(member(operation, "parameters")).filter((one) => member(one, "in") === "query")
        return [
          ...unbounded(member(member(content, "application/json"), "schema"), `${method} ${path}`),
          ...queries.flatMap((one) =>
            unbounded(member(one, "schema"), `${method} ${path}?${String(member(one, "name"))}`),
          ),
        ]
      }),
    )
    assert.deepStrictEqual(found, [])
  })
})
