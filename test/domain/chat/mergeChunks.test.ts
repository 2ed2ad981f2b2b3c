import { assert, describe, it } from "@effect/vitest"
import type { ChatChunk } from "../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../src/domain/chat/chatStream.ts"
import { mergeChunks, withoutPadding } from "../../../src/domain/chat/mergeChunks.ts"

const chunk = (delta: ChatChunk["choices"][number]["delta"], more: object = {}, choice: object = {}): ChatChunk => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
  ...more,
})
const ofTwo = chunk(
  {},
  { choices: [...chunk({ content: "b" }).choices, ...chunk({ content: "c" }, {}, { index: 1 }).choices] },
)
const call = (piece: Readonly<Record<string, string>>, more: object = {}) =>
  chunk({ tool_calls: [{ index: 0, function: piece, ...more }] })

describe("two chunks are one", () => {
  it.each<readonly [string, ChatChunk, ChatChunk]>([
    ["text", chunk({ content: "a" }), chunk({ content: "b" })],
    ["the same text", chunk({ content: "a" }), chunk({ content: "a" })],
    ["text beside a role", chunk({ role: "assistant", content: "a" }), chunk({ role: "assistant", content: "b" })],
    ["text beside nothing", chunk({ content: "a", refusal: null }), chunk({ content: "b", refusal: null })],
    ["a reason", chunk({ reasoning: "a" }), chunk({ reasoning: "b" })],
    ["reasoning as others call it", chunk({ reasoning_content: "a" }), chunk({ reasoning_content: "b" })],
    ["a refusal", chunk({ refusal: "a" }), chunk({ refusal: "b" })],
    ["arguments", call({ arguments: "{" }), call({ arguments: "}" })],
  ])("where they differ in %s alone", (_, first, second) => {
    const merged = mergeChunks(first, second)
    assert.isDefined(merged)
    if (merged !== undefined) assert.deepStrictEqual(accumulate([merged]), accumulate([first, second]))
  })

  it.each<readonly [string, ChatChunk, ChatChunk]>([
    ["differ in their ids", chunk({ content: "a" }), chunk({ content: "b" }, { id: "d" })],
    ["grow in two texts", chunk({ content: "a", reasoning: "a" }), chunk({ content: "b", reasoning: "a" })],
    ["grow in different texts", chunk({ content: "a" }), chunk({ reasoning: "b" })],
    ["are of two choices", chunk({ content: "a" }), chunk({ content: "b" }, {}, { index: 1 })],
    ["continue one choice with two", chunk({ content: "a" }), ofTwo],
    ["continue one choice of two", ofTwo, chunk({ content: "a" })],
    ["end", chunk({ content: "a" }), chunk({ content: "b" }, {}, { finish_reason: "stop" })],
    [
      "say the same of how likely it was",
      chunk({ content: "a" }, {}, { logprobs: [1] }),
      chunk({ content: "a" }, {}, { logprobs: [1] }),
    ],
    ["begin a call", call({ arguments: "" }), call({ arguments: "" }, { id: "call" })],
    ["name a function", call({ name: "f", arguments: "" }), call({ name: "f", arguments: "" })],
    ["have an unknown member", chunk({ content: "", thought: "a" }), chunk({ content: "", thought: "a" })],
    ["say nothing", chunk({}), chunk({})],
    ["have no choice", chunk({}, { choices: [] }), chunk({}, { choices: [] })],
  ])("not where they %s", (_, first, second) => {
    assert.isUndefined(mergeChunks(first, second))
  })
})

it("merging drops a provider's padding", () => {
  assert.deepStrictEqual(withoutPadding(chunk({ content: "a" }, { obfuscation: "xyz" })), chunk({ content: "a" }))
})
