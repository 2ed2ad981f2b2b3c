import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { permits, TargetFilter } from "../../../src/domain/upstream/targets.ts"

const target = { provider: "provider1", model: "gpt-5-mini" } as const
const allows = (pattern: string, model: string = target.model) => permits({ allow: [pattern] }, { ...target, model })

describe("permits", () => {
  it.each([
    ["*", true],
    ["provider1", true],
    ["provider1/*", true],
    ["provider1/gpt-5-mini", true],
    ["gpt-5-mini", true],
    ["gpt-*", true],
    ["*mini", true],
    ["gpt*5*mini", true],
    ["**", true],
    ["gpt-5-mini*", true],
    ["provider2/*", false],
    ["gpt-5", false],
    ["mini", false],
    ["gpt-5-min.", false],
    ["gpt-5-mini-*", false],
    ["*gpt-5-mini-mini", false],
    ["GPT-5-MINI", false],
  ])("allow %s: %s", (pattern, expected) => {
    assert.strictEqual(allows(pattern), expected)
    assert.strictEqual(permits({ deny: [pattern] }, target), !expected)
  })

  it("allows everything without a filter, and never a denied target", () => {
    assert.isTrue(permits(undefined, target))
    assert.isTrue(permits({}, target))
    assert.isFalse(permits({ allow: ["*"], deny: ["gpt-5-mini"] }, target))
  })

  it("refuses an empty allow list, which could mean all or nothing", () => {
    const isFilter = Schema.is(TargetFilter)
    assert.isTrue(isFilter({ allow: ["*"], deny: [] }))
    assert.isFalse(isFilter({ allow: [] }))
  })

  it("does not let the ends of a pattern overlap", () => {
    assert.isFalse(allows("gpt-5*5-mini"))
    assert.isFalse(allows("aa*aa", "aaa"))
    assert.isTrue(allows("aa*aa", "aaaa"))
  })

  it("is fast for any pattern", () => {
    assert.isFalse(allows(`${"a*".repeat(5000)}b`, "a".repeat(20_000)))
  })

  const Text = Schema.String.check(Schema.isPattern(/^[ab/]{1,8}$/))
  const Pattern = Schema.String.check(Schema.isPattern(/^[ab*]{1,6}$/))
  it.prop("matches like the equivalent regular expression", [Pattern, Text], ([pattern, model]) => {
    const regexp = new RegExp(`^${pattern.replaceAll("*", ".*")}$`)
    const texts = [`provider1/${model}`, model, "provider1"]
    return allows(pattern, model) === texts.some((text) => regexp.test(text))
  })
})
