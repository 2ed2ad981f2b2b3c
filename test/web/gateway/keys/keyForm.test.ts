import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { GatewayKey } from "../../../../src/client/gateway/GatewayKeys.ts"
import {
  checkChange,
  checkKey,
  fieldsOf,
  type KeyFields,
  NEW_KEY,
  NO_BUDGET,
} from "../../../../src/web/gateway/keys/keyForm.ts"

const AGENT = "01890a5d-ac96-774b-bcce-b302099a8057"

const check = (fields: Partial<KeyFields>) => checkKey({ ...NEW_KEY, name: "ci", ...fields }, 0)

describe("the form of a new key", () => {
  it("becomes a request without its empty fields", () => {
    assert.deepStrictEqual(check({ name: " ci ", models: " , " }), { value: { name: "ci", roles: ["run"] } })
    assert.deepStrictEqual(
      check({
        models: "a*, b",
        denied: "ab",
        agents: AGENT,
        rate: "60",
        weight: "3",
        jobs: " 2 ",
        calls: "4",
        days: "1",
        budgets: [{ per: "day", cost: "$1.00500000", tokens: "9" }],
      }),
      {
        value: {
          name: "ci",
          roles: ["run"],
          models: { allow: ["a*", "b"], deny: ["ab"] },
          agents: [AGENT],
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

  it("drops limits if the role is manage", () => {
    const budgets = [{ per: "day", cost: "x", tokens: "" }] as const
    assert.deepStrictEqual(check({ role: "manage", models: "a", budgets }), {
      value: { name: "ci", roles: ["manage"] },
    })
  })

  it("names each mistake", () => {
    for (const [fields, field] of [
      [{ name: " " }, "name"],
      [{ name: "😀".repeat(201) }, "name"],
      [{ agents: "reviewer" }, "agents"],
      [{ rate: "0" }, "rate"],
      [{ rate: "1.5" }, "rate"],
      [{ rate: "1000001" }, "rate"],
      [{ weight: "101" }, "weight"],
      [{ jobs: "0" }, "jobs"],
      [{ calls: "10001" }, "calls"],
      [{ days: "soon" }, "days"],
      [{ days: "40000" }, "days"],
      [{ days: "9".repeat(15) }, "days"],
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

describe("the form of a key that exists", () => {
  const key: GatewayKey = {
    id: "01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a",
    name: "ci",
    roles: ["read", "run"],
    models: { allow: ["a*"], deny: ["ab"] },
    agents: [AGENT],
    budgets: [{ per: "day", max_cost_micro_usd: 1, max_tokens: 9 }],
    requests_per_minute: 60,
    weight: 3,
    max_running_jobs: 2,
    max_calls_in_flight: 4,
    expires_at: "1970-01-02T12:00:00.000Z",
    created_at: "1970-01-01T00:00:00.000Z",
    created_by: "dana",
  }
  const opened = (own: Partial<GatewayKey>, fields: Partial<KeyFields>) => {
    const given = fieldsOf({ ...key, ...own }, 0)
    return checkChange({ ...key, ...own }, given, { ...given, ...fields }, 0)
  }
  const change = (fields: Partial<KeyFields>) => opened({}, fields)

  it("changes nothing that was left as it is", () => {
    assert.deepStrictEqual(change({}), { value: {} })
    assert.strictEqual(fieldsOf(key, 0).days, "2")
  })

  it("changes what was typed, and removes what was emptied", () => {
    assert.deepStrictEqual(change({ name: "ci 2", weight: "", days: "3", denied: "" }), {
      value: {
        name: "ci 2",
        weight: null,
        expires_at: "1970-01-04T00:00:00.000Z",
        models: { allow: ["a*"] },
      },
    })
    assert.deepStrictEqual(change({ models: "", denied: "", agents: "", budgets: [], days: "" }), {
      value: { models: null, agents: null, budgets: null, expires_at: null },
    })
  })

  it("removes limits if the role becomes manage", () => {
    const value = { roles: ["manage"], models: null, agents: null, budgets: null } as const
    assert.deepStrictEqual(change({ role: "manage", models: "b" }), { value })
    assert.deepStrictEqual(opened({ models: { allow: ["a,b"] } }, { role: "manage" }), { value })
  })

  it("changes one field even if it could not have made the values of the others", () => {
    const odd = {
      name: "😀".repeat(150),
      expires_at: "9999-12-31T00:00:00.000Z",
      budgets: [{ per: "day", max_cost_micro_usd: 16_384_280_000 }],
    } as const
    assert.deepStrictEqual(opened(odd, { weight: "4" }), { value: { weight: 4 } })
    assert.deepStrictEqual(opened(odd, { days: "90" }), { value: { expires_at: "1970-04-01T00:00:00.000Z" } })
    assert.deepStrictEqual(opened(odd, { name: `${odd.name}!` }), { value: { name: `${odd.name}!` } })
    const checked = opened(odd, { weight: "0" })
    assert.deepStrictEqual("mistakes" in checked && Object.keys(checked.mistakes), ["weight"])
  })

  it("tells the expiry of an expired key from none", () => {
    const expired = { expires_at: "1969-12-31T00:00:00.000Z" }
    assert.deepStrictEqual(opened(expired, {}), { value: {} })
    assert.deepStrictEqual(opened(expired, { days: "" }), { value: { expires_at: null } })
    assert.deepStrictEqual(opened(expired, { days: "1" }), { value: { expires_at: "1970-01-02T00:00:00.000Z" } })
  })

  it("refuses changes of models that would split a pattern", () => {
    for (const models of [{ allow: ["a,b"] }, { deny: [" a"] }]) {
      const checked = opened({ models }, { models: "c" })
      assert.include("mistakes" in checked ? checked.mistakes.models : "", "sealgate keys change")
      assert.deepStrictEqual(opened({ models }, { weight: "4" }), { value: { weight: 4 } })
      assert.deepStrictEqual(opened({ models }, { models: "", denied: "" }), { value: { models: null } })
    }
  })

  it.prop(
    "shows every budget as it is",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))],
    ([amount]) => {
      const budgets = [{ per: "day", max_cost_micro_usd: amount, max_tokens: amount }] as const
      const checked = check(fieldsOf({ ...key, budgets }, 0))
      assert.deepStrictEqual("value" in checked && checked.value.budgets, budgets)
    },
  )
})
