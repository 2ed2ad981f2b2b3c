import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { DEMO_CONVERSATION } from "../../../../src/domain/chat/demoConversation.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { echo } from "../../../../src/services/upstream/providers/echo/Echo.ts"

const asked = (content: string) => ({ messages: [{ role: "user" as const, content }] })
const answerTo = (content: string, limit?: number) =>
  Effect.map(
    echo.complete({ ...asked(content), ...(limit === undefined ? {} : { max_completion_tokens: limit }) }),
    ({ choices, usage }) => [choices[0]?.message.content, usage?.completion_tokens],
  )
const piecesOf = (content: string) =>
  Effect.map(Stream.runCollect(echo.stream(asked(content))), (chunks) =>
    chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).filter((piece) => piece !== ""),
  )

describe("the built-in echo", () => {
  it.effect("repeats a text word by word, with the white space around each", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* piecesOf(" \n one  two\tthree\n"), [" \n one  ", "two\t", "three\n"])
      assert.deepStrictEqual(yield* answerTo(" \n one  two\tthree\n"), [" \n one  two\tthree\n", 3])
      assert.deepStrictEqual(yield* answerTo("one two three", 2), ["one two ", 2])
      assert.deepStrictEqual(yield* piecesOf(""), [])
    }),
  )

  it.effect("answers the questions of the demo conversation, but only word for word", () =>
    Effect.gen(function* () {
      for (const [question, answer] of Object.entries(DEMO_CONVERSATION)) {
        assert.deepStrictEqual((yield* answerTo(question))[0], answer)
        assert.deepStrictEqual((yield* answerTo(`${question} `))[0], `${question} `)
      }
    }),
  )

  it.effect("repeats a long text in pieces of 1,024 characters, so that it does not hold up other requests", () =>
    Effect.gen(function* () {
      for (const long of ["a ".repeat(500_000), " ".repeat(1_000_000), "𝄞 ".repeat(100_000)]) {
        const pieces = yield* piecesOf(long)
        assert.strictEqual(pieces.join(""), long)
        assert.strictEqual(pieces.length, Math.ceil([...long].length / 1024))
        assert.deepStrictEqual(yield* answerTo(long, 1), [pieces[0], 1])
      }
      const { usage } = yield* echo.complete({
        messages: Array.from({ length: 1000 }, () => ({ role: "user" as const, content: "a ".repeat(1000) })),
      })
      assert.strictEqual(usage?.prompt_tokens, Math.ceil((1000 * 2001 - 1) / 1024))
    }),
  )

  it.effect("uses a JSON object in the text as a tool's arguments", () =>
    Effect.gen(function* () {
      const tools = [{ type: "function" as const, function: { name: "find" } }]
      for (const [text, args] of [
        ['find {"a": {"b": 1}} now', '{"a": {"b": 1}}'],
        ["find }{", JSON.stringify({ prompt: "find }{" })],
        ["find }", JSON.stringify({ prompt: "find }" })],
        [`find ${"{".repeat(1_000_000)}`, JSON.stringify({ prompt: `find ${"{".repeat(1_000_000)}` })],
      ] as const) {
        const { choices } = yield* echo.complete({ ...asked(text), tools })
        assert.isTrue(choices[0]?.message.tool_calls?.[0]?.function.arguments === args)
      }
    }),
  )

  it.effect("calls every tool that the text names, or one if parallel calls are off, whole and streamed alike", () =>
    Effect.gen(function* () {
      const tools = ["get_weather", "get_time"].map((name) => ({ type: "function" as const, function: { name } }))
      const both = { ...asked("get_weather, get_time"), tools }
      for (const [request, names] of [
        [both, ["get_weather", "get_time"]],
        [{ ...both, parallel_tool_calls: false }, ["get_weather"]],
        [{ ...both, tool_choice: { type: "function", function: { name: "get_time" } } }, ["get_time"]],
        [{ ...both, tool_choice: "none" as const }, []],
      ] as const) {
        const streamed = accumulate(yield* Stream.runCollect(echo.stream(request)))
        for (const { choices } of [yield* echo.complete(request), streamed]) {
          const called = (choices[0]?.message.tool_calls ?? []).map((call) => call.function.name)
          assert.strictEqual(called.join(), names.join())
          assert.strictEqual(choices[0]?.finish_reason, names.length === 0 ? "stop" : "tool_calls")
        }
      }
    }),
  )
})
