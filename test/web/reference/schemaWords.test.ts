import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "../../../src/web/reference/openApi.ts"
import { boundsWords, formWords, insideOf, takesMore, typeWords } from "../../../src/web/reference/schemaWords.ts"

const schemas: Readonly<Record<string, Schema>> = {
  Point: { type: "object", properties: { x: { type: "number" } }, required: ["x"], additionalProperties: false },
  Tree: { type: "object", properties: { left: { $ref: "#/components/schemas/Tree" } } },
}
const POINT: Schema = { $ref: "#/components/schemas/Point" }

describe("a schema in words", () => {
  it("has a type", () => {
    const cases: ReadonlyArray<readonly [Schema, string]> = [
      [{}, "anything"],
      [{ type: "string", format: "uuid" }, "string (uuid)"],
      [{ type: ["integer", "null"] }, "integer or null"],
      [{ type: "string", enum: ["hour", "day"] }, '"hour" | "day"'],
      [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "integer or null"],
      [{ oneOf: [POINT, POINT] }, "object"],
      [{ type: "array", items: POINT }, "array of object"],
      [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } }, "array of (string or integer)"],
      [{ type: "object", additionalProperties: { type: "string" } }, "object of string"],
      [{ type: "string", contentSchema: POINT }, "string of JSON: object"],
      [{ $ref: "#/components/schemas/Nowhere" }, "anything"],
    ]
    for (const [schema, words] of cases) assert.strictEqual(typeWords(schema, schemas), words)
  })

  it("has bounds, but not those that every integer has", () => {
    const cases: ReadonlyArray<readonly [Schema, ReadonlyArray<string>]> = [
      [{ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, []],
      [{ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, ["at least 0"]],
      [{ type: "integer", exclusiveMinimum: 0, maximum: 5 }, ["at most 5", "above 0"]],
      [{ type: "string", minLength: 1, maxLength: 200 }, ["1 to 200 characters"]],
      [{ type: "string", minLength: 43, maxLength: 43 }, ["43 characters"]],
      [{ type: "string", pattern: "^a$" }, ["matches ^a$"]],
      [{ type: "string", pattern: "^a$", format: "uuid" }, []],
      [
        { type: "array", minItems: 1, items: { type: "string", maxLength: 3 } },
        ["at least 1 items", "each at most 3 characters"],
      ],
      [
        {
          type: "object",
          maxProperties: 32,
          propertyNames: { minLength: 1, maxLength: 64 },
          additionalProperties: { type: "string", maxLength: 9 },
        },
        ["at most 32 members", "names of 1 to 64 characters", "values of at most 9 characters"],
      ],
      [{ type: "integer", default: 2 }, ["2 if left out"]],
    ]
    for (const [schema, words] of cases) assert.deepStrictEqual(boundsWords(schema, schemas), words)
  })

  it("shows members and forms wherever they are, and nothing where the type says it all", () => {
    const members = { type: "members", schema: schemas["Point"] }
    for (const schema of [
      POINT,
      { type: "array", items: POINT },
      { type: "object", additionalProperties: POINT },
      { type: "string", contentSchema: POINT },
      { anyOf: [POINT, { type: "null" }] },
    ] satisfies ReadonlyArray<Schema>) {
      assert.deepStrictEqual(insideOf(schema, schemas), members as ReturnType<typeof insideOf>, JSON.stringify(schema))
    }
    const forms = [POINT, { type: "string" }] satisfies ReadonlyArray<Schema>
    assert.deepStrictEqual(insideOf({ anyOf: forms }, schemas), { type: "forms", forms })
    assert.isUndefined(insideOf({ anyOf: [{ type: "string" }, { type: "integer" }] }, schemas))
    assert.isUndefined(insideOf({ type: "array", items: { type: "string" } }, schemas))
    // What refers to itself is looked into one level at a time.
    assert.strictEqual(insideOf({ $ref: "#/components/schemas/Tree" }, schemas)?.type, "members")
  })

  it("says what tells forms apart, and which objects take more", () => {
    const text: Schema = { type: "object", properties: { type: { enum: ["text"] }, text: {} }, required: ["text"] }
    assert.strictEqual(formWords(text, schemas), 'type: "text"')
    assert.strictEqual(formWords(POINT, schemas), "with x")
    assert.strictEqual(formWords({ type: "object" }, schemas), "object")
    for (const open of [true, {}]) assert.isTrue(takesMore({ additionalProperties: open }))
    for (const closed of [{}, { additionalProperties: false }, { additionalProperties: POINT }]) {
      assert.isFalse(takesMore(closed))
    }
  })
})
