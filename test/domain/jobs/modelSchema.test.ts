import { assert, describe, it } from "@effect/vitest"
import { modelSchemaOf } from "../../../src/domain/jobs/modelSchema.ts"

const a = { type: "string" }
const b = { type: "number" }

const TABLE: ReadonlyArray<readonly [what: string, schema: object, sent: object]> = [
  ["an object without properties gets empty ones", {}, { properties: {} }],
  [
    "a plain schema stays as it is",
    { properties: { a }, required: ["a"], additionalProperties: false, title: "x", $defs: { b } },
    { properties: { a }, required: ["a"], additionalProperties: false, title: "x", $defs: { b } },
  ],
  [
    "alternatives that only require are dropped",
    { properties: { a, b }, required: ["a"], anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { properties: { a, b }, required: ["a"] },
  ],
  [
    "what all alternatives require stays required",
    {
      oneOf: [
        { properties: { a, b }, required: ["a", "b"] },
        { properties: { a }, required: ["a"] },
      ],
    },
    { properties: { a, b }, required: ["a"] },
  ],
  [
    "a property that alternatives describe differently may be either",
    {
      anyOf: [
        { properties: { kind: { const: 1 } } },
        { properties: { kind: { const: 2 } } },
        { properties: { kind: { const: 1 } } },
      ],
    },
    { properties: { kind: { anyOf: [{ const: 1 }, { const: 2 }] } } },
  ],
  [
    "parts add their properties and what they require",
    { properties: { a }, required: ["a"], allOf: [{ properties: { b }, required: ["b"] }, { required: ["a"] }] },
    { properties: { a, b }, required: ["a", "b"] },
  ],
  [
    "the root's own property comes before that of a part",
    { properties: { a }, allOf: [{ properties: { a: { minLength: 1 } } }] },
    { properties: { a } },
  ],
  [
    "compositions within each other are folded, too",
    { anyOf: [{ allOf: [{ properties: { a } }, { oneOf: [{ properties: { b }, required: ["b"] }] }] }] },
    { properties: { a, b }, required: ["b"] },
  ],
  [
    "references are followed, also with escaped names",
    { anyOf: [{ $ref: "#/$defs/a~1b" }], $defs: { "a/b": { properties: { a }, required: ["a"] } } },
    { properties: { a }, required: ["a"], $defs: { "a/b": { properties: { a }, required: ["a"] } } },
  ],
  [
    "references are followed to percent-encoded names",
    { allOf: [{ $ref: "#/$defs/List%3CFoo%3E" }], $defs: { "List<Foo>": { properties: { a } } } },
    { properties: { a }, $defs: { "List<Foo>": { properties: { a } } } },
  ],
  [
    "anchors and malformed references say nothing",
    {
      required: ["a"],
      anyOf: [{ $ref: "#args" }, { $ref: "#/$defs/%" }, { $ref: "args" }],
      $defs: { "%": { $anchor: "args", properties: { a } } },
    },
    { properties: {}, required: ["a"], $defs: { "%": { $anchor: "args", properties: { a } } } },
  ],
  [
    "a property keeps its description beside alternatives that lack it",
    { anyOf: [{ properties: { a } }, { properties: { b } }, true, { $ref: "#/none" }] },
    { properties: { a, b } },
  ],
  [
    "references in a circle or to nothing say nothing",
    {
      properties: { a },
      anyOf: [{ $ref: "#" }, { $ref: "#/$defs/none" }],
      allOf: [{ $ref: "#/$defs/c" }],
      $defs: { c: { $ref: "#/$defs/c" } },
    },
    { properties: { a }, $defs: { c: { $ref: "#/$defs/c" } } },
  ],
  [
    "references to what was folded are dropped",
    { properties: { b: { $ref: "#/anyOf/0/properties/a", title: "b" } }, anyOf: [{ properties: { a } }] },
    { properties: { a, b: { title: "b" } } },
  ],
  ["other refused keywords are dropped", { enum: [{}], const: {}, not: { required: ["a"] } }, { properties: {} }],
  [
    "malformed members are dropped",
    { properties: [], required: "a", anyOf: {}, oneOf: [true, null, 1], allOf: [[]] },
    { properties: {} },
  ],
]

/** Counts what is added to maps and sets meanwhile. */
const countingAdditions = <A>(run: () => A) => {
  const originals = [
    [Map.prototype, "set", Object.getOwnPropertyDescriptor(Map.prototype, "set")],
    [Set.prototype, "add", Object.getOwnPropertyDescriptor(Set.prototype, "add")],
  ] as const
  let additions = 0
  for (const [prototype, name, original] of originals) {
    const counted = function (this: unknown, ...given: ReadonlyArray<unknown>): unknown {
      additions++
      return Reflect.apply(original?.value, this, given)
    }
    Object.defineProperty(prototype, name, { ...original, value: counted })
  }
  try {
    const result = run()
    return { result, additions }
  } finally {
    for (const [prototype, name, original] of originals) Object.defineProperty(prototype, name, original ?? {})
  }
}

describe("the schema that models get", () => {
  for (const [what, schema, sent] of TABLE) {
    it(what, () => {
      assert.deepStrictEqual<unknown>(modelSchemaOf({ type: "object", ...schema }), { type: "object", ...sent })
    })
  }

  it("keeps a property named like one of every object", () => {
    const schema = JSON.parse('{"type":"object","anyOf":[{"properties":{"__proto__":{"type":"string"}}}]}')
    assert.strictEqual(
      JSON.stringify(modelSchemaOf(schema)),
      '{"type":"object","properties":{"__proto__":{"type":"string"}}}',
    )
  })

  it("is made in one pass of references that double at each level", () => {
    const level = (i: number) => ({ allOf: [{ $ref: `#/$defs/${i + 1}` }, { $ref: `#/$defs/${i + 1}` }] })
    const $defs = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, level(i)]))
    const schema = { type: "object", ...level(-1), $defs: { ...$defs, 200: { properties: { a } } } }
    assert.deepStrictEqual<unknown>(modelSchemaOf(schema)["properties"], { a })
  })

  it("is made in one pass of alternatives that refer to the same properties", () => {
    const names = Array.from({ length: 560 }, (_, i) => `p${i}`)
    const shared = { properties: Object.fromEntries(names.map((name) => [name, a])), required: names }
    const anyOf = Array.from({ length: 740 }, () => ({ $ref: "#/shared" }))
    const { additions, result } = countingAdditions(() => modelSchemaOf({ type: "object", shared, anyOf }))
    assert.deepStrictEqual(Object.keys(result.properties), names)
    assert.deepStrictEqual<unknown>(result["required"], names)
    assert.isBelow(additions, 20 * (names.length + anyOf.length))
  })
})
