import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { RawObject } from "../../../../src/domain/json/rawObject.ts"
import { streamReading } from "../../../../src/services/upstream/answerReaders/readings.ts"
import type { NativeApis, NativeCall } from "../../../../src/services/upstream/Provider.ts"
import { echo } from "../../../../src/services/upstream/providers/echo/Echo.ts"

const native = echo.native as NativeApis
const ask = (api: NativeCall["api"], body: object): NativeCall => ({
  api,
  body: RawObject.of({ ...body }),
  headers: {},
  model: "echo-1",
})
const MESSAGES = [
  { role: "user", content: "Be kind." },
  {
    role: "user",
    content: [
      { type: "text", text: "one two " },
      { type: "text", text: "three" },
    ],
  },
]

describe("the built-in echo in the vendors' own APIs", () => {
  it.effect("repeats the last text as a whole answer", () =>
    Effect.gen(function* () {
      const message = yield* native.complete(ask("messages", { messages: MESSAGES }))
      assert.deepInclude(JSON.parse(message.json), {
        content: [{ type: "text", text: "one two three" }],
      })
      assert.deepStrictEqual(message.said.finishReasons, ["end_turn"])
      assert.deepInclude(message.said.usage, { prompt_tokens: 5, completion_tokens: 3 })
      for (const input of ["one two three", MESSAGES]) {
        const response = yield* native.complete(ask("responses", { input }))
        assert.include(response.json, '"text":"one two three"')
        assert.deepStrictEqual(response.said.finishReasons, ["completed"])
      }
      const count = yield* native.complete(ask("messages.count_tokens", { messages: MESSAGES }))
      assert.deepStrictEqual(JSON.parse(count.json), { input_tokens: 5 })
    }),
  )

  it.effect.each(["messages", "responses"] as const)(
    "repeats the last text word by word in a complete stream of %s",
    (api) =>
      Effect.gen(function* () {
        const call = ask(api, api === "messages" ? { messages: MESSAGES } : { input: MESSAGES })
        const reading = streamReading(api)
        const events = yield* Stream.runCollect(native.stream(call))
        for (const event of events) assert.isUndefined(reading.add(event))
        assert.isTrue(reading.finished)
        assert.deepInclude(reading.said.usage, { prompt_tokens: 5, completion_tokens: 3 })
        const pieces = events.flatMap(({ delta, type }) => {
          if (type === "response.output_text.delta") return [String(delta)]
          return type === "content_block_delta" ? [String(Object(delta)["text"])] : []
        })
        assert.deepStrictEqual(pieces, ["one ", "two ", "three"])
      }),
  )
})
