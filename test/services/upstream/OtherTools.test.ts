/** Tools of types that this product does not know: their calls pass as they were sent, and no translation drops them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema, Stream } from "effect"
import { ChatChunk, ChatInput, type Delta } from "../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../src/domain/chat/chatStream.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import type { ApiRequest } from "../../../src/domain/upstream/upstream.ts"
import { AnswerDraft } from "../../../src/services/routing/AnswerDraft.ts"
import { apiStreamOf } from "../../support/streamed.ts"
import { upstreamOf } from "./ScriptedProvider.ts"
import { canned, events, json, MINIMAL } from "./providers/support/Canned.ts"
import { REQUEST, sse } from "./providers/support/raw.ts"

const custom = { type: "custom", custom: { name: "patch" } }
const BODY = { messages: [{ role: "user", content: "hi" }], tools: [custom] }
const CALLED: ReadonlyArray<unknown> = [
  { id: "a", type: "custom", custom: { name: "patch", input: "*** Begin" } },
  { id: "b", type: "function", function: { name: "f", arguments: "{}" } },
]

const asked = (body: JsonObject): ApiRequest => ({
  api: "chat.completions",
  body: RawObject.of(body),
  headers: {},
  model: undefined,
  completion: () =>
    Result.isSuccess(Schema.decodeUnknownResult(ChatInput)(body))
      ? Result.succeed(REQUEST)
      : Result.fail([{ path: "tools.0.type", message: "Expected function" }]),
})

const answer = (tool_calls: ReadonlyArray<unknown>) => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: null, tool_calls }, finish_reason: "tool_calls" }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
})

const piece = (delta: Delta, finish_reason: string | null = null) => ({
  id: "c",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
})
const PIECES = [
  piece({ tool_calls: [{ index: 0, id: "a", type: "custom", custom: { name: "patch", input: "" } }] }),
  piece({ tool_calls: [{ index: 0, custom: { input: "*** " } }] }),
  piece({ tool_calls: [{ index: 0, custom: { input: "Begin" } }] }),
  piece({ tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "f", arguments: "{}" } }] }),
  piece({}, "tool_calls"),
]

describe("calls of a custom tool", () => {
  it.effect("pass in a whole answer as they were sent", () =>
    Effect.gen(function* () {
      const { provider, sent } = yield* canned("openai", () => json(answer(CALLED)))
      const upstream = yield* upstreamOf([provider])
      const { json: text, served } = yield* upstream.request(asked(BODY))
      assert.deepStrictEqual(JSON.parse(text).choices[0].message.tool_calls, CALLED)
      assert.deepInclude(served.usage, { prompt_tokens: 1, completion_tokens: 2 })
      assert.deepInclude(sent[0]?.body, BODY)
    }),
  )

  it.effect("pass in a stream as they were sent", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("openai", () => events([sse(...PIECES)]))
      const upstream = yield* upstreamOf([provider])
      const heard = yield* Stream.runCollect(apiStreamOf(upstream, asked(BODY)))
      const chunks = heard.flatMap((event) => (event._tag === "Delta" ? [event.chunk] : []))
      assert.deepStrictEqual(
        chunks.map(({ choices }) => Object(choices)[0].delta),
        PIECES.map(({ choices }) => choices[0]?.delta),
      )
    }),
  )

  it.effect("are joined into the calls that a whole answer has", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("openai", () => events([sse(...PIECES)]))
      const chunks = yield* Stream.runCollect(provider.stream(REQUEST))
      assert.isTrue(chunks.every(Schema.is(ChatChunk)))
      assert.deepStrictEqual<unknown>(accumulate(chunks).choices[0]?.message.tool_calls, CALLED)
    }),
  )

  it("do not count as calls that a step can make", () => {
    const draft = new AnswerDraft()
    for (const chunk of PIECES) {
      draft.add({ _tag: "Delta", provider: "provider1", chunk: { ...chunk, object: "chat.completion.chunk" } })
    }
    const served = { provider: "provider1", model: "m", finishReasons: ["tool_calls"], usage: null }
    assert.deepStrictEqual(draft.finished({ served, attempts: [] }), {
      text: "",
      refused: false,
      cut: false,
      state: {},
      toolCalls: [{ id: "b", type: "function", function: { name: "f", arguments: "{}" } }],
    })
  })
})

describe("a custom tool", () => {
  it.effect.each<readonly [string, JsonObject]>([
    ["tools[0]", BODY],
    ["tool_choice", { messages: BODY.messages, tool_choice: custom }],
    ["messages[1].tool_calls[0]", { messages: [...BODY.messages, { role: "assistant", tool_calls: CALLED }] }],
  ])("at %s is not translated, and goes to a target that knows it", ([path, body]) =>
    Effect.gen(function* () {
      const { provider: translating, sent } = yield* canned("anthropic", () => json(MINIMAL.anthropic))
      const { provider: native } = yield* canned("openai", () => json(answer(CALLED)))
      const both = yield* upstreamOf([translating, native])
      assert.strictEqual((yield* both.request(asked(body))).served.provider, native.id)
      const alone = yield* upstreamOf([translating])
      const error = yield* Effect.flip(alone.request(asked(body)))
      assert.strictEqual(error.code, "unsupported")
      assert.strictEqual(
        error.detail && Redacted.value(error.detail),
        `${path}: this provider has no tools of this type`,
      )
      assert.isEmpty(sent)
    }),
  )
})
