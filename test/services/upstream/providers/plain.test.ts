import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as fc from "fast-check"
import { Usage } from "../../../../src/domain/chat/chat.ts"
import {
  isPlainChunk,
  isPlainCompletion,
  isPlainUsage,
} from "../../../../src/services/upstream/providers/openai/plain.ts"
import * as Wire from "../../../../src/services/upstream/providers/openai/Wire.ts"

const decodeChunk = Schema.decodeUnknownOption(Wire.Chunk)
const decodeCompletion = Schema.decodeUnknownOption(Wire.Completion)
const decodeWireUsage = Schema.decodeUnknownOption(Wire.Usage)
const decodeUsage = Schema.decodeUnknownOption(Usage)

/** Values of the wrong type for a member. */
const ODD: ReadonlyArray<unknown> = [null, "text", "", 1, -1, 0.5, 2 ** 53, true, [], {}]

/** Mostly one of `values`, so that many of what is made of them are plain. */
const oneOf = (...values: ReadonlyArray<unknown>) =>
  fc.oneof(
    { weight: values.length === 0 ? 0 : 8, arbitrary: fc.constantFrom<unknown>(...values, null) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  )

/** Objects with some of these members. */
const object = (members: Readonly<Record<string, fc.Arbitrary<unknown>>>) => fc.record(members, { requiredKeys: [] })

const said = object({
  role: oneOf("assistant"),
  content: oneOf("word", [{ type: "text", text: "a" }], [{ text: "a" }]),
  refusal: oneOf("no"),
  tool_calls: oneOf([{ index: 0 }], [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }]),
  reasoning: oneOf({ any: "thing" }),
})

const answerOf = (member: string) =>
  object({
    id: oneOf("c"),
    usage: oneOf({ prompt_tokens: 1 }),
    more: oneOf(),
    choices: fc.oneof(
      { weight: 1, arbitrary: oneOf() },
      {
        weight: 5,
        arbitrary: fc.array(
          fc.oneof(
            {
              weight: 5,
              arbitrary: object({
                index: oneOf(0),
                finish_reason: oneOf("stop"),
                logprobs: oneOf(),
                [member]: fc.oneof({ weight: 5, arbitrary: said }, oneOf()),
              }),
            },
            { weight: 1, arbitrary: oneOf() },
          ),
          { maxLength: 3 },
        ),
      },
    ),
  })

const details = (...names: ReadonlyArray<string>) =>
  fc.oneof(
    { weight: 5, arbitrary: object(Object.fromEntries([...names, "more"].map((name) => [name, oneOf(3)]))) },
    oneOf(),
  )

const usage = object({
  prompt_tokens: fc.oneof(fc.nat(), oneOf()),
  completion_tokens: fc.oneof(fc.nat(), oneOf()),
  total_tokens: fc.oneof(fc.nat(), oneOf()),
  prompt_tokens_details: details("cached_tokens", "cache_write_tokens"),
  completion_tokens_details: details("reasoning_tokens"),
  more: oneOf(),
})

const RUNS = { numRuns: 5000 }

/** How many of them were plain, or the property would hold of nothing. */
const plainOf = <A>(arbitrary: fc.Arbitrary<A>, check: (value: A) => boolean): number => {
  let plain = 0
  fc.assert(
    fc.property(arbitrary, (value) => {
      if (check(value)) plain++
    }),
    RUNS,
  )
  return plain
}

describe("an answer recognized as plain", () => {
  it("equals its schema's output as a whole", () => {
    const plain = plainOf(answerOf("message"), (answer) => {
      if (!isPlainCompletion(answer)) return false
      assert.deepStrictEqual<unknown>(decodeCompletion(answer), Option.some(answer))
      return true
    })
    assert.isAbove(plain, 0)
  })

  it("equals its schema's output in pieces", () => {
    const plain = plainOf(answerOf("delta"), (chunk) => {
      if (!isPlainChunk(chunk)) return false
      assert.deepStrictEqual<unknown>(decodeChunk(chunk), Option.some(chunk))
      return true
    })
    assert.isAbove(plain, 0)
  })

  it("has usage that equals the output of both schemas", () => {
    const plain = plainOf(usage, (counts) => {
      if (!isPlainUsage(counts)) return false
      assert.deepStrictEqual<unknown>(decodeWireUsage(counts), Option.some(counts))
      assert.deepStrictEqual<unknown>(decodeUsage(counts), Option.some(counts))
      // Details that are null are left out of what callers get.
      assert.notStrictEqual(counts.prompt_tokens_details, null)
      assert.notStrictEqual(counts.completion_tokens_details, null)
      return true
    })
    assert.isAbove(plain, 0)
  })

  it("includes text", () => {
    const piece = (delta: object) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })
    const whole = (message: object) => ({ id: "c", choices: [{ index: 0, message, finish_reason: "stop" }] })
    assert.isTrue(isPlainChunk(piece({ role: "assistant", content: "", refusal: null })))
    assert.isTrue(isPlainChunk(piece({ content: "word", reasoning: "so" })))
    assert.isFalse(isPlainChunk(piece({ tool_calls: [{ index: 0, function: { arguments: "{" } }] })))
    assert.isTrue(isPlainCompletion(whole({ role: "assistant", content: "", refusal: null })))
    assert.isFalse(isPlainCompletion(whole({ tool_calls: [{ id: "c", function: { name: "f", arguments: "{" } }] })))
    assert.isFalse(isPlainCompletion({ choices: [] }))
    assert.isTrue(isPlainUsage({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }))
  })
})
