import { assert, it } from "@effect/vitest"
import type { AssistantMessage } from "../../../src/domain/chat/chat.ts"
import { messageStateOf, withoutMessageState } from "../../../src/domain/chat/messageState.ts"
import { estimateInput } from "../../../src/services/routing/TokenEstimate.ts"

const called = { id: "c1", type: "function", function: { name: "add", arguments: "{}" } } as const
const state = { reasoning_content: "x".repeat(3000), extra_content: { google: { thought_signature: "s" } } }
const plain: AssistantMessage = { role: "assistant", content: null, tool_calls: [called] }
const signed = { ...called, index: 0, extra_content: state.extra_content }
const message: AssistantMessage = { ...plain, ...state, tool_calls: [signed], reasoning: "x", annotations: [] }

it("the state of a message is its thoughts and signatures, and nothing that no vendor demands back", () => {
  assert.deepStrictEqual(messageStateOf(message), state)
  assert.deepStrictEqual(messageStateOf({ ...plain, reasoning_content: null }), {})
})

it("a message without state has no state in its tool calls", () => {
  assert.deepStrictEqual(withoutMessageState({ ...plain, ...state, tool_calls: [signed] }), plain)
  assert.deepStrictEqual(withoutMessageState(plain), plain)
})

it("the state of a message counts as input", () => {
  const input = (message: AssistantMessage) => estimateInput({ messages: [message] })
  assert.isAtLeast(input({ ...plain, ...state }) - input(plain), 1000)
})
