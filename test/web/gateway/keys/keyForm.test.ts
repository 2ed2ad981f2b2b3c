import { assert, describe, it } from "@effect/vitest"
import { checkKey, type KeyFields, NEW_KEY, NO_BUDGET } from "../../../../src/web/gateway/keys/keyForm.ts"

const check = (fields: Partial<KeyFields>) => checkKey({ ...NEW_KEY, name: "ci", ...fields }, 0)

describe("the form of a new key", () => {
  it("becomes a request without its empty fields", () => {
    assert.deepStrictEqual(check({ name: " ci ", models: " , " }), { value: { name: "ci", roles: ["run"] } })
    assert.deepStrictEqual(
      check({
        models: "a*, b",
        rate: "60",
        weight: "3",
        jobs: " 2 ",
        calls: "4",
        days: "1",
        budgets: [{ per: "day", cost: "$1.005", tokens: "9" }],
      }),
      {
        value: {
          name: "ci",
          roles: ["run"],
          models: { allow: ["a*", "b"] },
          budgets: [{ per: "day", max_cost_micro_usd: 1_005_000, max_tokens: 9 }],
          requests_per_minute: 60,
          weight: 3,
          max_running_jobs: 2,
          max_calls_in_flight: 4,
          expires_at: "1970-01-02T00:00:00.000Z",
        },
      },
    )
  })

  it("drops the limits of keys that manage", () => {
    const budgets = [{ per: "day", cost: "x", tokens: "" }] as const
    assert.deepStrictEqual(check({ role: "manage", models: "a", budgets }), {
      value: { name: "ci", roles: ["manage"] },
    })
  })

  it("names each mistake", () => {
    for (const [fields, field] of [
      [{ name: " " }, "name"],
      [{ name: "x".repeat(201) }, "name"],
      [{ rate: "0" }, "rate"],
      [{ rate: "1.5" }, "rate"],
      [{ rate: "1000001" }, "rate"],
      [{ weight: "101" }, "weight"],
      [{ jobs: "0" }, "jobs"],
      [{ calls: "10001" }, "calls"],
      [{ days: "soon" }, "days"],
      [{ days: "40000" }, "days"],
      [{ budgets: [{ ...NO_BUDGET, cost: "0.0000001" }] }, "budgets"],
      [{ budgets: [{ ...NO_BUDGET, tokens: "-1" }] }, "budgets"],
      [
        {
          budgets: [
            { ...NO_BUDGET, cost: "1" },
            { ...NO_BUDGET, tokens: "1" },
          ],
        },
        "budgets",
      ],
    ] as const) {
      const checked = check(fields)
      assert.deepStrictEqual("mistakes" in checked ? Object.keys(checked.mistakes) : [], [field])
    }
  })
})
