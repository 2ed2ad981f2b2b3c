import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as fc from "fast-check"
import { jsonSchemaMistake, misfits } from "../../../src/domain/json/jsonSchema.ts"

const schema = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    amount: { type: ["integer", "null"], minimum: 1, maximum: 10 },
    reason: { type: "string", minLength: 2, maxLength: 4 },
    tags: { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 2 },
    kind: { const: "x" },
  },
  required: ["approved"],
  additionalProperties: false,
}

describe("misfits", () => {
  it("names every mistake with its path", () => {
    const value = { amount: 1.5, reason: "x", tags: ["c", "a"], kind: "y", more: 1 }
    assert.deepStrictEqual(misfits(schema, value, "answer"), [
      { path: "answer.approved", message: "is missing" },
      { path: "answer.amount", message: "must be integer or null" },
      { path: "answer.reason", message: "must have at least 2 characters" },
      { path: "answer.tags.0", message: 'must be "a" or "b"' },
      { path: "answer.kind", message: 'must be "x"' },
      { path: "answer.more", message: "is not expected" },
    ])
    assert.deepStrictEqual(misfits(schema, { approved: true, amount: null, reason: "𝄞𝄞𝄞𝄞" }, "answer"), [])
  })

  it("truncates a long list of choices", () => {
    const choices = Array.from({ length: 256 }, (_, i) => `choice ${i}`)
    const [found, more] = misfits({ items: { enum: choices } }, [...choices, "none"], "answer")
    assert.strictEqual(found?.path, "answer.256")
    assert.isBelow(found?.message.length ?? 0, 520)
    assert.isUndefined(more)
  })

  it("accepts exactly what a whole validator accepts", () => {
    const ajv = new Ajv2020({ strict: false }).compile(schema)
    const member = fc.oneof(
      fc.boolean(),
      fc.constant(null),
      fc.integer({ min: -1, max: 12 }),
      fc.double(),
      fc.string({ maxLength: 5 }),
      fc.constantFrom("x", "a", "b"),
      fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 3 }),
    )
    const value = fc.oneof(
      member,
      fc.record(
        {
          approved: fc.oneof(fc.boolean(), member),
          amount: member,
          reason: member,
          tags: member,
          kind: member,
          __proto__: member,
        },
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(value, (value) => {
        const onWire: unknown = JSON.parse(JSON.stringify(value))
        assert.strictEqual(misfits(schema, onWire, "answer").length === 0, ajv(onWire))
      }),
      { numRuns: 2000 },
    )
  })

  it("stops after 64 mistakes", () => {
    const items = Array.from({ length: 100_000 }, () => 1)
    assert.strictEqual(misfits({ type: "array", items: { type: "string" } }, items, "answer").length, 64)
    let lookups = 0
    const empty = new Proxy({}, { getOwnPropertyDescriptor: () => void lookups++ })
    const required = Array.from({ length: 256 }, (_, i) => `member ${i}`)
    assert.strictEqual(misfits({ items: { required } }, [empty, empty], "answer").length, 64)
    assert.strictEqual(lookups, 64)
  })

  it("reads a list of choices once, however many items there are", () => {
    let reads = 0
    const choices = new Proxy(
      Array.from({ length: 256 }, (_, i) => i),
      { get: (target, name) => (typeof name === "string" && name !== "length" && reads++, Reflect.get(target, name)) },
    )
    const items = Array.from({ length: 1000 }, () => 255)
    assert.deepStrictEqual(misfits({ items: { enum: choices } }, items, "answer"), [])
    assert.isAtMost(reads, 300)
  })
})

describe("jsonSchemaMistake", () => {
  it("accepts only keywords that are checked, with values of their type", () => {
    assert.isUndefined(jsonSchemaMistake(schema))
    assert.isUndefined(jsonSchemaMistake({ title: "A", description: "b", default: {} }))
    for (const pattern of [{ pattern: "(a+)+$" }, { $ref: "#" }, { oneOf: [] }, { constructor: 1 }]) {
      assert.include(jsonSchemaMistake({ properties: { a: pattern } }), "use only the keywords")
    }
    const many = { enum: Array.from({ length: 257 }, (_, i) => i) }
    for (const wrong of [{ type: "text" }, { required: "a" }, { minimum: "1" }, { items: [] }, { enum: [{}] }, many]) {
      assert.include(jsonSchemaMistake(wrong), "correct the value of")
    }
    const names = Array.from({ length: 257 }, (_, i) => `member ${i}`)
    assert.isUndefined(jsonSchemaMistake({ required: names.slice(1) }))
    for (const required of [["a", "a"], names]) {
      assert.include(jsonSchemaMistake({ items: { required } }), 'correct the value of "required"')
    }
    let deep = {}
    for (let level = 0; level < 20_000; level++) deep = { items: deep }
    assert.include(jsonSchemaMistake(deep), "nest at most 16 levels")
  })
})
