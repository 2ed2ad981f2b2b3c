import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { Dialects, limitMember, limitMembers, namedIn } from "../../../src/services/routing/Dialects.ts"

const target = { provider: "provider1", model: "large" } as const

describe("after a refusal", () => {
  const dialects = new Dialects()
  const usual = dialects.of(target, 0)
  const tried = (hasForm: boolean, limit: number | undefined) =>
    dialects.others(usual, hasForm, limit).map((other) => [other.form, limitMember(other, target), other.longest])

  it.each([
    { hasForm: false, limit: undefined, others: [] },
    { hasForm: true, limit: undefined, others: [[false, "max_tokens", Infinity]] },
    { hasForm: false, limit: 4096, others: [[true, "max_completion_tokens", Infinity]] },
    {
      hasForm: true,
      limit: 4097,
      others: [
        [false, "max_tokens", Infinity],
        [true, "max_completion_tokens", Infinity],
        [true, "max_tokens", 4096],
        [false, "max_completion_tokens", 4096],
      ],
    },
  ])("a request (form: $hasForm, output limit: $limit) is changed in $others.length ways", (request) => {
    assert.deepStrictEqual(tried(request.hasForm, request.limit), request.others)
  })

  it("only changes that a refusal names are learned", () => {
    const refused = (detail: string) => new UpstreamError({ code: "invalid-request", detail: Redacted.make(detail) })
    const modest = { form: false, otherLimit: true, longest: 4096 }
    const [form, limit] = [refused("unknown member: response_format"), refused("max_tokens is above 4096")]
    assert.deepStrictEqual(namedIn([form], usual, modest), { ...usual, form: false })
    assert.deepStrictEqual(namedIn([limit], usual, modest), { ...modest, form: true })
    assert.deepStrictEqual(namedIn([form, limit], usual, modest), modest)
    assert.isUndefined(namedIn([refused("the picture cannot be read")], usual, modest))
    assert.isUndefined(namedIn([limit], usual, { ...usual, form: false }))
  })
})

describe("an output limit goes into the member that the model's servers obey:", () => {
  const usual = new Dialects().of(undefined, 0)
  it.each([
    ["max_completion_tokens", ["o1", "o4-mini", "openai/o3", "gpt-5", "gpt-6-sol", "openai/gpt-5.1-mini", "GPT-10"]],
    // Models whose servers know both members.
    ["max_tokens", ["gpt-4o", "gpt-4.1-mini", "openai/gpt-3.5-turbo"]],
    // Models whose servers may ignore the other member.
    ["max_tokens", ["deepseek-chat", "gpt-oss-120b", "llama3.1:8b", "qwen3", "mistral-large-latest", "olmo-3"]],
  ] as const)("%s for %o", (member, models) => {
    for (const model of models) assert.deepStrictEqual(limitMembers(usual, 7, { model }), { [member]: 7 }, model)
  })
})
