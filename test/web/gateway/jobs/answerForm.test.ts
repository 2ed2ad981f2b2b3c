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
    assert.deepStrictEqual(answerOf(fields, { approved: "no", account: "petty cash", amount: "40.5", note: "" }), {
      ok: true,
      value: { approved: false, account: "petty cash", amount: 40.5 },
    })
  })

  it("names the fields that are missing or are no numbers", () => {
    assert.deepStrictEqual(answerOf(fields, { amount: "forty", copies: "1.5" }), {
      ok: false,
      mistakes: {
        approved: "Choose one.",
        amount: "Enter a number, with a point for decimals.",
        copies: "Enter a whole number.",
      },
    })
  })

  it("lets a required text be empty, which only the gateway can judge", () => {
    const text = fieldsOf({ properties: { why: { type: "string" } }, required: ["why"] }) ?? []
    assert.deepStrictEqual(answerOf(text, {}), { ok: true, value: { why: "" } })
  })

  it("gives way to JSON if a member is not simple, or a required one is not described", () => {
    for (const properties of [{ tags: { type: "array" } }, { any: {} }, { one: { enum: [null] } }, {}, undefined]) {
      assert.isUndefined(fieldsOf({ type: "object", properties }))
    }
    assert.isUndefined(fieldsOf({ properties: { a: { type: "string" } }, required: ["b"] }))
  })
})
