import { assert, describe, it } from "@effect/vitest"
import { answerOf, fieldsOf } from "../../../../src/web/gateway/jobs/answerForm.ts"

const schema = {
  type: "object",
  properties: {
    approved: { type: "boolean", description: "Whether to pay" },
    account: { enum: ["main", "petty cash"] },
    amount: { type: "number" },
    copies: { type: "integer" },
    note: { type: "string" },
  },
  required: ["approved", "amount"],
}
const fields = fieldsOf(schema) ?? []

describe("the form for an answer", () => {
  it("has a field per simple member, with its choices, and says which are required", () => {
    assert.deepStrictEqual(
      fields.map(({ choices, hint, kind, name, required }) => [
        name,
        kind,
        choices.map(([text]) => text),
        hint,
        required,
      ]),
      [
        ["approved", "choice", ["yes", "no"], "Whether to pay", true],
        ["account", "choice", ["main", "petty cash"], "", false],
        ["amount", "number", [], "", true],
        ["copies", "integer", [], "", false],
        ["note", "text", [], "", false],
      ],
    )
  })

  it("gives the answer with its types, and leaves empty optional members out", () => {
    const texts = new Map(Object.entries({ approved: "no", account: "petty cash", amount: "40.5", note: "" }))
    assert.deepStrictEqual(answerOf(fields, texts), {
      ok: true,
      value: { approved: false, account: "petty cash", amount: 40.5 },
    })
  })

  it("names the fields that are missing or are no numbers", () => {
    const texts = new Map(Object.entries({ amount: "forty", copies: "1.5" }))
    assert.deepStrictEqual(answerOf(fields, texts), {
      ok: false,
      mistakes: new Map(
        Object.entries({
          approved: "Choose one.",
          amount: "Enter a number, with a point for decimals.",
          copies: "Enter a whole number.",
        }),
      ),
    })
  })

  it("lets a required text be empty, which only the gateway can judge", () => {
    const text = fieldsOf({ properties: { why: { type: "string" } }, required: ["why"] }) ?? []
    assert.deepStrictEqual(answerOf(text, new Map()), { ok: true, value: { why: "" } })
  })

  it("takes members for themselves that are named like those of every object", () => {
    const names = ["constructor", "toString", "__proto__"]
    const properties = Object.fromEntries(names.map((name) => [name, { type: "number" }]))
    const numbers = fieldsOf({ properties, required: names }) ?? []
    const mistakes = new Map(names.map((name) => [name, "Enter a number."]))
    assert.deepStrictEqual(answerOf(numbers, new Map()), { ok: false, mistakes })
    assert.deepStrictEqual(answerOf(numbers, new Map(names.map((name) => [name, "1"]))), {
      ok: true,
      value: Object.fromEntries(names.map((name) => [name, 1])),
    })
  })

  it("gives way to JSON if a member is not simple, or a required one is not described", () => {
    for (const properties of [{ tags: { type: "array" } }, { any: {} }, { one: { enum: [null] } }, {}, undefined]) {
      assert.isUndefined(fieldsOf({ type: "object", properties }))
    }
    assert.isUndefined(fieldsOf({ properties: { a: { type: "string" } }, required: ["b"] }))
  })
})
