/** What callers may send is bounded member by member, so that nobody makes work that grows with the largest body. */
import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { GatewayApi } from "../../../src/api/gateway/GatewayApi.ts"

const document = OpenApi.fromApi(GatewayApi)

/** A task is as long as a body may be, and what it consists of is the conversation's own. */
const BY_THE_BODY = /\.(task|messages)$/

const member = (value: unknown, name: string): unknown => (Predicate.isObject(value) ? value[name] : undefined)
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The paths of all texts and lists in a JSON Schema that may be of any length. */
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
  it("states a bound for every text and every list of a body or a query", () => {
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
