/** Accumulating chunks into an answer. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { ChatCompletion, type ChatChunk } from "../../../src/domain/chat/chat.ts"
import { accumulate, ChatAccumulator, UNFINISHED } from "../../../src/domain/chat/chatStream.ts"

type Choice = ChatChunk["choices"][number]

const chunk = (choices: ReadonlyArray<Choice>, members: object = {}): ChatChunk => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m",
  choices,
  ...members,
})
const delta = (index: number, members: Choice["delta"], finish_reason: string | null = null): ChatChunk =>
  chunk([{ index, delta: members, finish_reason }])

it("accumulates texts, refusals, tool calls and usage of several choices", () => {
  const completion = accumulate([
    delta(1, { role: "assistant", refusal: "I " }),
    delta(0, { role: "assistant", content: "Hel" }),
    delta(0, { content: "lo" }),
    delta(1, { refusal: "won't" }),
    delta(0, { tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "g", arguments: "" } }] }),
    delta(0, { tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"x"' } }] }),
    delta(0, {
      tool_calls: [
        { index: 0, function: { arguments: ":1}" } },
        { index: 1, function: { arguments: "{}" } },
      ],
    }),
    delta(1, {}, "stop"),
    delta(0, {}, "tool_calls"),
    chunk([], { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
  ])
  assert.deepStrictEqual(completion, {
    id: "c1",
    object: "chat.completion",
    created: 7,
    model: "m",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Hello",
          refusal: null,
          tool_calls: [
            { id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } },
            { id: "b", type: "function", function: { name: "g", arguments: "{}" } },
          ],
        },
        finish_reason: "tool_calls",
      },
      { index: 1, message: { role: "assistant", content: null, refusal: "I won't" }, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  })
  assert.isTrue(Schema.is(ChatCompletion)(completion))
})

it("concatenates unknown texts and lists, and replaces unknown states", () => {
  const completion = accumulate([
    delta(0, { content: "x", reasoning_content: "be", audio: { id: "a1", data: "AA" } }),
    delta(0, {
      reasoning_content: "cause",
      audio: { data: "BB" },
      extra_content: { google: { thought_signature: "old" } },
    }),
    chunk([
      { index: 0, delta: { extra_content: { google: { thought_signature: "new" } } }, logprobs: { content: [1] } },
    ]),
    chunk([{ index: 0, delta: {}, logprobs: { content: [2] }, finish_reason: "stop" }], { system_fingerprint: "fp" }),
  ])
  assert.deepStrictEqual(completion.choices[0], {
    index: 0,
    message: {
      role: "assistant",
      content: "x",
      refusal: null,
      reasoning_content: "because",
      audio: { id: "a1", data: "AABB" },
      extra_content: { google: { thought_signature: "new" } },
    },
    logprobs: { content: [1, 2] },
    finish_reason: "stop",
  })
  assert.strictEqual(completion["system_fingerprint"], "fp")
})

it("joins an unknown object, such as a function_call, member by member", () => {
  const { choices } = accumulate([
    delta(0, { function_call: { name: "f", arguments: "" } }),
    delta(0, { function_call: { arguments: "{}" } }, "function_call"),
  ])
  assert.deepStrictEqual(choices[0]?.message["function_call"], { name: "f", arguments: "{}" })
})

it("marks an unfinished answer, which grows with each chunk", () => {
  const answer = new ChatAccumulator()
  assert.isEmpty(answer.completion.choices)
  answer.add(delta(0, { content: "a" }))
  assert.strictEqual(answer.completion.choices[0]?.finish_reason, UNFINISHED)
  answer.add(delta(0, { content: "b" }, "length"))
  assert.strictEqual(answer.completion.choices[0]?.message.content, "ab")
  assert.strictEqual(answer.completion.choices[0]?.finish_reason, "length")
})

it("gives a tool call without an id one", () => {
  const { choices } = accumulate([delta(0, { tool_calls: [{ index: 0, function: { name: "f", arguments: "{}" } }] })])
  assert.strictEqual(choices[0]?.message.tool_calls?.[0]?.id, "call_0_0")
})

it("treats __proto__ like any other member", () => {
  const hostile: ChatChunk = JSON.parse(
    '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"__proto__":{"polluted":true},"x":{"__proto__":{"polluted":true}}},"finish_reason":"stop"}],"__proto__":{"polluted":true}}',
  )
  const completion = accumulate([hostile, hostile])
  const message = completion.choices[0]?.message
  for (const holder of [completion, message, message?.["x"]]) {
    assert.strictEqual(Object.getPrototypeOf(holder), Object.prototype)
    assert.isTrue(Object.hasOwn(Object(holder), "__proto__"), "it is kept, as a member")
  }
})

/** So many that copying all earlier chunks for each would take many minutes. */
const MANY = 100_000

it("joins a list and an object of many chunks without copying them each time", () => {
  const pieces = Array.from({ length: MANY }, (_, at) =>
    delta(0, { list: [at], object: { inner: { [`m${at}`]: at } } }),
  )
  const [choice] = accumulate(pieces).choices
  const numbers = Array.from({ length: MANY }, (_, at) => at)
  assert.deepStrictEqual(choice?.message["list"], numbers)
  assert.deepStrictEqual(Object.values(Object(choice?.message["object"]).inner), numbers)
})

it("replaces a joined list or object by a value of another type", () => {
  const states = [[1], [2], { a: [3] }, { a: [4] }, [5], "text"]
  const answer = new ChatAccumulator()
  const seen = states.map((state) => {
    answer.add(delta(0, { state }))
    return answer.completion.choices[0]?.message["state"]
  })
  assert.deepStrictEqual(seen, [[1], [1, 2], { a: [3] }, { a: [3, 4] }, [5], "text"])
})
