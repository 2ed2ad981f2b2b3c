import { assert, describe, it } from "@effect/vitest"
import { differ, plain } from "../../../../src/services/jobs/modes/engine/sameAnswer.ts"

const areSame = (a: string, b: string): boolean => plain(a) === plain(b)

describe("answers that need no comparer", () => {
  it.each([
    ["42", " 42.\n"],
    ["42", "42.00"],
    ["1,000", "1000"],
    ["-1,234,567.5", "−1234567.5"],
    ["100 €", "€100"],
    ["20 %", "20%"],
    ["5km", "5 km"],
    ["Yes.", "yes"],
    ["It is  42.", "It is 42"],
  ])("%j and %j are the same", (a, b) => {
    assert.isTrue(areSame(a, b))
    assert.isFalse(differ(a, b))
  })

  it.each([
    ["42", "41"],
    ["42", "-42"],
    ["$20", "$21.50"],
    ["5 mW", "6 mW"],
    ["1,000", "42"],
    ["9007199254740992", "9007199254740993"],
    ["1234567890123456789012", "1234567890123456789013"],
    ["A", "b"],
    ["Yes", "no."],
    ["true", "FALSE"],
  ])("%j and %j are different", (a, b) => {
    assert.isFalse(areSame(a, b))
    assert.isTrue(differ(a, b))
  })

  it.each([
    // Another unit, currency or case.
    ["5 mW", "5 MW"],
    ["$20", "20%"],
    ["€100", "$100"],
    ["42", "$42.00"],
    ["1 km", "1000 m"],
    ["polish", "Polish"],
    ["a", "A"],
    // Separators that mean something else elsewhere, and zeros that count in versions and codes.
    ["1,5", "15"],
    ["1,500", "1.5"],
    ["1.500", "1500"],
    ["1.000 €", "1 €"],
    ["2.000", "2,000"],
    ["12,34", "1234"],
    ["3.10", "3.1"],
    ["007", "7"],
    // Other notations.
    ["1e3", "1000"],
    ["0x10", "16"],
    ["5:30", "17:30"],
    ["A", "4"],
    ["yes", "true"],
    ["forty-two", "42"],
    // Indentation counts in code.
    ["if x:\n  a()\n  b()", "if x:\n  a()\nb()"],
  ])("%j and %j are left to the comparer", (a, b) => {
    assert.isFalse(areSame(a, b))
    assert.isFalse(differ(a, b))
    assert.isFalse(differ(b, a))
  })
})
