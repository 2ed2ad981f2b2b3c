import { assert, describe, it } from "@effect/vitest"
import { Dialects, inDialect, limitMembers } from "../../../src/services/routing/Dialects.ts"

const target = { provider: "provider1", model: "large" } as const

describe("after a refusal", () => {
  const dialects = new Dialects()
  const usual = dialects.of(target)
  const tried = (hasForm: boolean, limit: number | undefined) =>
    dialects.others(usual, hasForm, limit).map(({ form, limit, longest }) => [form, limit, longest])

  it.each([
    { hasForm: false, limit: undefined, others: [] },
    { hasForm: true, limit: undefined, others: [[false, "max_completion_tokens", Infinity]] },
    { hasForm: false, limit: 4096, others: [[true, "max_tokens", Infinity]] },
    {
      hasForm: true,
      limit: 4097,
      others: [
        [false, "max_completion_tokens", Infinity],
        [true, "max_tokens", Infinity],
        [true, "max_completion_tokens", 4096],
        [false, "max_tokens", 4096],
      ],
    },
  ])("a request (form: $hasForm, output limit: $limit) is changed in $others.length ways", (request) => {
    assert.deepStrictEqual(tried(request.hasForm, request.limit), request.others)
  })

  it("what helped is kept for that target", () => {
    const learned = { form: false, limit: "max_tokens", longest: 4096 } as const
    dialects.learn(target, learned)
    assert.deepStrictEqual(dialects.of(target), learned)
    assert.deepStrictEqual(dialects.of({ ...target, model: "small" }), usual)
    assert.deepStrictEqual(dialects.others(learned, true, 10_000), [])
    assert.deepStrictEqual(limitMembers(learned, 10_000), { max_tokens: 4096 })
    assert.deepStrictEqual(limitMembers(learned, undefined), {})
    const messages = [{ role: "user" as const, content: "hi" }]
    assert.deepStrictEqual(inDialect({ messages, response_format: { type: "json_object" } }, learned), { messages })
  })
})
