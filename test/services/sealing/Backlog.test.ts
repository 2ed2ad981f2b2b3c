import { assert, describe, it } from "@effect/vitest"
import type { ChatChunk } from "../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../src/domain/chat/chatStream.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { Backlog, FULL } from "../../../src/services/sealing/Backlog.ts"

/** Largest payload in a block of 1024 bytes. */
const MOST = 1020

const chunk = (delta: object, choice: object = {}): JsonObject => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
})
const event = (text: string): JsonObject => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text },
})

const drained = (backlog: Backlog) => {
  const payloads: Array<string> = []
  while (!backlog.isEmpty) payloads.push(Buffer.from(backlog.take()).toString())
  const deltas = payloads.flatMap((payload) => (JSON.parse(payload) as { readonly deltas: Array<JsonObject> }).deltas)
  return { deltas, sizes: payloads.map((payload) => Buffer.byteLength(payload)) }
}

describe("a paced backlog", () => {
  it.each([
    ["quotation marks", '"'],
    ["line feeds", "\n"],
    ["control characters", "\u0001"],
    ["characters beyond ASCII", "ü"],
    ["pairs of surrogates", "😀"],
  ])("keeps payloads to one block where many tokens are %s", (_, token) => {
    const backlog = new Backlog("chat.completions", true)
    for (let i = 0; i < 2000; i++) backlog.add(chunk({ content: token }))
    const { deltas, sizes } = drained(backlog)
    assert.isAtMost(Math.max(...sizes), MOST)
    // Full ones, or the number of tokens would show in that of the frames.
    assert.isAbove(Math.min(...sizes.slice(0, -1)), 0.9 * MOST)
    const { message } = accumulate(deltas as unknown as ReadonlyArray<ChatChunk>).choices[0] ?? {}
    assert.strictEqual(message?.content, token.repeat(2000))
  })

  it.each<readonly [string, object, object]>([
    ["a text", { content: "x😀".repeat(3000) }, {}],
    ["a text with a role", { role: "assistant", content: '"'.repeat(3000) }, {}],
    ["a text with the end", { content: "x".repeat(3000) }, { finish_reason: "stop" }],
    ["two texts", { reasoning_content: "y".repeat(3000), content: "x".repeat(3000) }, {}],
    [
      "a whole tool call",
      {
        tool_calls: [
          { index: 1, id: "a", type: "function", function: { name: "f", arguments: `"${"x".repeat(3000)}"` } },
        ],
      },
      {},
    ],
  ])("cuts %s that is longer than a block, and nothing is lost by it", (_, delta, choice) => {
    const whole = chunk(delta, choice)
    const backlog = new Backlog("chat.completions", true)
    backlog.add(whole)
    const { deltas, sizes } = drained(backlog)
    assert.isAtMost(Math.max(...sizes), MOST)
    assert.isAbove(sizes.length, 3)
    const joined = accumulate(deltas as unknown as ReadonlyArray<ChatChunk>)
    assert.deepStrictEqual(joined, accumulate([whole as unknown as ChatChunk]))
  })

  it("cuts long events of Messages, and leaves the numbered ones of Responses whole", () => {
    const messages = new Backlog("messages", true)
    messages.add(event("x".repeat(5000)))
    const cut = drained(messages)
    assert.isAtMost(Math.max(...cut.sizes), MOST)
    const texts = cut.deltas.map(({ delta }) => String(Reflect.get(Object(delta), "text")))
    assert.strictEqual(texts.join(""), "x".repeat(5000))
    const responses = new Backlog("responses", true)
    const delta = { type: "response.output_text.delta", item_id: "i", sequence_number: 1, delta: "x".repeat(5000) }
    responses.add(delta)
    assert.deepStrictEqual(drained(responses).deltas, [delta])
  })

  it("does not count data that a restart voids", () => {
    const backlog = new Backlog("chat.completions", true)
    backlog.add(chunk({ content: "x".repeat(FULL) }))
    assert.isAbove(backlog.size, FULL)
    backlog.startOver({ reason: "truncated", provider: "provider2", model: "m" })
    assert.strictEqual(backlog.size, 0)
    backlog.add(chunk({ content: "kept" }))
    assert.lengthOf(drained(backlog).sizes, 1)
    assert.strictEqual(backlog.size, 0)
  })
})

it("an unpaced backlog cuts nothing", () => {
  const backlog = new Backlog("chat.completions", false)
  const whole = chunk({ content: "x".repeat(300_000) })
  backlog.add(whole)
  assert.deepStrictEqual(drained(backlog).deltas, [whole])
})
