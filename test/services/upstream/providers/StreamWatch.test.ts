/** The reports about a stream besides its chunks: activity, thinking, and the cost so far. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Usage } from "../../../../src/domain/chat/chat.ts"
import { canned, events, type Vendor } from "./support/Canned.ts"
import { eventFixture } from "./support/fixtures.ts"

const sse = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`

/** How often the watch heard of thoughts, the counts of input and output tokens that it heard, and the chunks. */
const watched = Effect.fnUntraced(function* (vendor: Vendor, pieces: ReadonlyArray<string>) {
  const { provider } = yield* canned(vendor, () => events(pieces))
  let thoughts = 0
  const spent: Array<Usage> = []
  let signs = 0
  const watch = {
    alive: () => void signs++,
    thinking: () => void thoughts++,
    spent: (usage: Usage) => void spent.push(usage),
    receipt: () => assert.fail("no vendor signs what it says"),
  }
  const chunks: Array<unknown> = []
  yield* provider.stream({ messages: [{ role: "user", content: "hi" }] }, watch).pipe(
    Stream.runForEach((chunk) => Effect.sync(() => chunks.push(chunk))),
    Effect.exit,
  )
  return { signs, thoughts, spent: spent.map((usage) => [usage.prompt_tokens, usage.completion_tokens]), chunks }
})

describe("whatever the format", () => {
  it.effect.each([
    ["anthropic", "event: ping\n" + sse({ type: "ping" })],
    ["anthropic", ": keep-alive\n\n"],
    ["gemini", ": keep-alive\n\n"],
    ["openai", ": OPENROUTER PROCESSING\n\n"],
    ["openai", sse({ id: "c", created: 1, model: "m", choices: [{ index: 0, delta: {} }] })],
  ] as const)("%s: any bytes count as activity, such as %j", ([vendor, piece]) =>
    Effect.gen(function* () {
      const { signs, thoughts } = yield* watched(vendor, [piece, piece, piece])
      assert.strictEqual(signs, 3)
      assert.strictEqual(thoughts, 0)
    }),
  )
})

describe("anthropic", () => {
  const start = sse({
    type: "message_start",
    message: { id: "m", model: "c", usage: { input_tokens: 9, output_tokens: 1 } },
  })
  const block = (content_block: unknown) => sse({ type: "content_block_start", index: 0, content_block })
  const delta = (of: unknown) => sse({ type: "content_block_delta", index: 0, delta: of })
  const thinkingBlock = block({ type: "thinking", thinking: "", signature: "" })

  const ping = "event: ping\n" + sse({ type: "ping" })

  it.effect("thoughts, their beginnings and signatures count as thinking", () =>
    Effect.gen(function* () {
      const { chunks, thoughts } = yield* watched("anthropic", [
        start,
        thinkingBlock,
        delta({ type: "thinking_delta", thinking: "Hm" }),
        delta({ type: "thinking_delta", thinking: "m." }),
        delta({ type: "signature_delta", signature: "sig" }),
        sse({ type: "content_block_stop", index: 0 }),
        block({ type: "redacted_thinking", data: "encrypted" }),
      ])
      assert.strictEqual(thoughts, 5)
      assert.lengthOf(chunks, 1)
    }),
  )

  it.effect("events that a hung model's server may send do not count as thinking", () =>
    Effect.gen(function* () {
      const { thoughts } = yield* watched("anthropic", [
        start,
        thinkingBlock,
        ping,
        ": keep-alive\n\n",
        delta({ type: "thinking_delta", thinking: "" }),
        delta({ type: "signature_delta", signature: "" }),
        delta({ type: "unknown_delta" }),
        sse({ type: "unknown" }),
      ])
      // The beginning of the block.
      assert.strictEqual(thoughts, 1)
    }),
  )

  it.effect("prompt tokens are reported as soon as they are known, and each count once", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* watched("anthropic", [start, thinkingBlock])).spent, [[9, 0]])
      const recorded = yield* watched("anthropic", eventFixture("anthropic-stream"))
      assert.lengthOf(recorded.spent, 2)
    }),
  )
})

describe("gemini", () => {
  const event = (parts: ReadonlyArray<unknown>, candidatesTokenCount?: number) =>
    sse({
      candidates: [{ index: 0, content: { parts } }],
      ...(candidatesTokenCount === undefined ? {} : { usageMetadata: { promptTokenCount: 4, candidatesTokenCount } }),
    })

  it.effect("thoughts count as thinking, unless they are empty", () =>
    Effect.gen(function* () {
      const { thoughts } = yield* watched("gemini", [
        event([{ text: "Hm", thought: true }]),
        event([{ text: "m.", thought: true }]),
        event([{ text: "", thought: true }]),
        event([]),
        ": keep-alive\n\n",
      ])
      assert.strictEqual(thoughts, 2)
    }),
  )

  it.effect("token counts are reported as they come", () =>
    Effect.gen(function* () {
      const { spent } = yield* watched("gemini", [event([{ text: "a" }], 1), event([]), event([{ text: "b" }], 2)])
      assert.deepStrictEqual(spent, [
        [4, 1],
        [4, 2],
      ])
    }),
  )
})

describe("openai", () => {
  it.effect("thoughts in content parts count as thinking, because no chunk shows them", () =>
    Effect.gen(function* () {
      const chunk = (content: unknown) => sse({ id: "c", choices: [{ index: 0, delta: { content } }] })
      const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm" }] }
      const { thoughts } = yield* watched("openai", [chunk([thought, thought]), chunk([{ type: "text", text: "a" }])])
      assert.strictEqual(thoughts, 1)
    }),
  )

  it.effect("reasoning is in the chunks, and so is its count", () =>
    Effect.gen(function* () {
      const chunk = (more: object) => sse({ id: "c", created: 1, model: "m", choices: [], ...more })
      const { chunks, spent, thoughts } = yield* watched("openai", [
        chunk({ choices: [{ index: 0, delta: { reasoning_content: "Hm" } }] }),
        chunk({ usage: { prompt_tokens: 3, completion_tokens: 1 } }),
      ])
      assert.lengthOf(chunks, 2)
      assert.strictEqual(thoughts, 0)
      assert.deepStrictEqual(spent, [[3, 1]])
    }),
  )
})
