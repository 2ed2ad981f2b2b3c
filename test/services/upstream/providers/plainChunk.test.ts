import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { isPlainChunk } from "../../../../src/services/upstream/providers/openai/plainChunk.ts"
import * as Wire from "../../../../src/services/upstream/providers/openai/Wire.ts"

const decode = Schema.decodeUnknownOption(Wire.Chunk)

/** Every way in which a member may be: absent, as it should be, and as it should not. */
const VALUES: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  index: [0, 3, null, -1, 0.5, 2 ** 53, "0"],
  finish_reason: ["stop", null, 1],
  role: ["assistant", null, 1],
  content: ["text", "", null, 1, [{ type: "text", text: "a" }], [{ text: "a" }]],
  refusal: ["no", null, {}],
  tool_calls: [null, [], [{ index: 0 }], "none"],
  function_call: [null, {}, { name: 1 }],
  reasoning: ["so", { any: "thing" }],
}
const DELTA: ReadonlySet<string> = new Set(["role", "content", "refusal", "tool_calls", "function_call", "reasoning"])

const chunks: ReadonlyArray<unknown> = [
  null,
  [],
  "text",
  {},
  { choices: null },
  { choices: {} },
  { choices: [] },
  { choices: [null] },
  { choices: [{}] },
  { choices: [{ delta: [] }] },
  { id: 1, model: null, usage: "none", more: {}, choices: [{ delta: {}, logprobs: [] }] },
  ...Object.entries(VALUES).flatMap(([name, values]) =>
    values.map((value) => {
      const inDelta = DELTA.has(name)
      const delta = { content: "a", ...(inDelta ? { [name]: value } : {}) }
      return { id: "c", choices: [{ index: 0, delta, ...(inDelta ? {} : { [name]: value }) }] }
    }),
  ),
]

describe("a chunk that is plain", () => {
  it.each(chunks.map((chunk) => [JSON.stringify(chunk), chunk] as const))(
    "%s: is what its schema makes of it",
    (_, chunk) => {
      if (isPlainChunk(chunk)) assert.deepStrictEqual<unknown>(decode(chunk), Option.some(chunk))
    },
  )

  it("is a piece of text", () => {
    const piece = (delta: object) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })
    assert.isTrue(isPlainChunk(piece({ role: "assistant", content: "", refusal: null })))
    assert.isTrue(isPlainChunk(piece({ content: "word", reasoning: "so" })))
    assert.isFalse(isPlainChunk(piece({ tool_calls: [{ index: 0, function: { arguments: "{" } }] })))
  })
})
