import { assert, describe, it } from "@effect/vitest"
import { changesOf } from "../../../../src/web/gateway/routing/changes.ts"
import type { RoutingFields } from "../../../../src/web/gateway/routing/routingForm.ts"

const target = { weight: "", quality: "", input: "", output: "", cached: "", context: "1000" }
const fields: RoutingFields = {
  strategy: "cost",
  escalateBelow: "",
  baseline: "provider1/large",
  targets: [
    { ...target, key: 0, provider: "provider1", model: "large" },
    { ...target, key: 1, provider: "provider2", model: "small" },
  ],
}

describe("changes of the routing", () => {
  it("are none for the same fields, whatever the spaces around them", () => {
    const [first, ...others] = fields.targets
    assert.isDefined(first)
    assert.deepStrictEqual(changesOf(fields, { ...fields, targets: [{ ...first, context: " 1000 " }, ...others] }), [])
  })

  it("name what changed, was added and was removed, with both values", () => {
    const [first] = fields.targets
    assert.isDefined(first)
    const added = { ...target, key: 2, provider: "provider3", model: "new" }
    const after: RoutingFields = { ...fields, strategy: "cascade", targets: [{ ...first, input: "2.5" }, added] }
    assert.deepStrictEqual(changesOf(fields, { ...after, escalateBelow: "0.7" }), [
      { what: "strategy", before: "cost", after: "cascade" },
      { what: "escalate below", before: "empty", after: "0.7" },
      { what: "provider2/small", before: "a target", after: "removed" },
      { what: "provider1/large: input, $ per million", before: "empty", after: "2.5" },
      { what: "provider3/new", before: "no target", after: "added" },
    ])
  })
})
