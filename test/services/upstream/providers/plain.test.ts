import { assert, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as fc from "fast-check"
import { isPlainChunk } from "../../../../src/services/upstream/providers/openai/plain.ts"
import * as Wire from "../../../../src/services/upstream/providers/openai/Wire.ts"

const decode = Schema.decodeUnknownOption(Wire.Chunk)

/** Values of the wrong type for a member. */
const ODD: ReadonlyArray<unknown> = [null, "text", "", 1, -1, 0.5, 2 ** 53, true, [], {}]

/** Mostly one of `values`, so that many of what is made of them are plain. */
const oneOf = (...values: ReadonlyArray<unknown>) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<unknown>(...values, null) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  )

/** Objects with some of these members, or something else. */
const object = (members: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 5, arbitrary: fc.record(members, { requiredKeys: [] }) }, fc.constantFrom(...ODD))

const delta = object({
  role: oneOf("assistant"),
  content: oneOf("word", [{ type: "text", text: "a" }], [{ text: "a" }]),
  refusal: oneOf("no"),
  tool_calls: oneOf([{ index: 0 }], [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }]),
  reasoning: oneOf({ any: "thing" }),
})
const choice = object({ index: oneOf(0), finish_reason: oneOf("stop"), logprobs: oneOf(), delta })
const chunk = object({
  id: oneOf("c"),
  usage: oneOf({ prompt_tokens: 1 }),
  choices: fc.array(choice, { maxLength: 3 }),
})

it("a chunk recognized as plain equals its schema's output", () => {
  let plain = 0
  fc.assert(
    fc.property(chunk, (json) => {
      if (!isPlainChunk(json)) return
      plain++
      assert.deepStrictEqual<unknown>(decode(json), Option.some(json))
    }),
    { numRuns: 5000 },
  )
  assert.isAbove(plain, 0)
})

it("pieces of text are plain, pieces of tool calls are not", () => {
  const piece = (delta: object) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })
  assert.isTrue(isPlainChunk(piece({ role: "assistant", content: "", refusal: null })))
  assert.isTrue(isPlainChunk(piece({ content: "word", reasoning: "so" })))
  assert.isFalse(isPlainChunk(piece({ tool_calls: [{ index: 0, function: { arguments: "{" } }] })))
})
