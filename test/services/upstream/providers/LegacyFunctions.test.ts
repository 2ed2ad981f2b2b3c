/** `functions`, `function_call` and the role `function` work with every vendor, though each only sees tools. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { echo } from "../../../../src/services/upstream/providers/echo/Echo.ts"
import { canned, events, json, MINIMAL, VENDOR_NAMES } from "./support/Canned.ts"
import { eventFixture, jsonFixture } from "./support/fixtures.ts"

const parameters = { type: "object", properties: { location: { type: "string" } } }

const request: ChatRequest = {
  messages: [
    { role: "user", content: "weather in Paris, then in Rome?" },
    { role: "assistant", content: null, function_call: { name: "get_weather", arguments: '{"location":"Paris"}' } },
    { role: "function", name: "get_weather", content: "sun" },
    { role: "assistant", content: null, function_call: { name: "get_weather", arguments: '{"location":"Rome"}' } },
    { role: "function", name: "get_weather", content: null },
  ],
  functions: [{ name: "get_weather", description: "the weather", parameters }],
  function_call: { name: "get_weather" },
}

const call = (id: string, location: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "get_weather", arguments: JSON.stringify({ location }) } }],
})

it.effect("openai: sent as tools", () =>
  Effect.gen(function* () {
    const { provider, sent } = yield* canned("openai", () => json(MINIMAL.openai))
    yield* provider.complete(request)
    assert.deepStrictEqual(sent[0]?.body, {
      model: "gpt-default",
      messages: [
        request.messages[0],
        call("call_function_1", "Paris"),
        { role: "tool", tool_call_id: "call_function_1", content: "sun" },
        call("call_function_3", "Rome"),
        { role: "tool", tool_call_id: "call_function_3", content: "" },
      ],
      tools: [{ type: "function", function: { name: "get_weather", description: "the weather", parameters } }],
      tool_choice: { type: "function", function: { name: "get_weather" } },
      parallel_tool_calls: false,
    })
  }),
)

it.effect("anthropic and gemini: sent as theirs", () =>
  Effect.gen(function* () {
    const anthropic = yield* canned("anthropic", () => json(MINIMAL.anthropic))
    yield* anthropic.provider.complete(request)
    assert.deepInclude(anthropic.sent[0]?.body, {
      tool_choice: { type: "tool", name: "get_weather", disable_parallel_tool_use: true },
    })
    assert.include(JSON.stringify(anthropic.sent[0]?.body), '"tool_use_id":"call_function_3"')
    const gemini = yield* canned("gemini", () => json(MINIMAL.gemini))
    yield* gemini.provider.complete(request)
    assert.deepInclude(gemini.sent[0]?.body, {
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["get_weather"] } },
    })
  }),
)

it.effect("function_call auto and none", () =>
  Effect.gen(function* () {
    for (const choice of ["auto", "none"] as const) {
      const { provider, sent } = yield* canned("openai", () => json(MINIMAL.openai))
      yield* provider.complete({ ...request, function_call: choice })
      assert.deepInclude(sent[0]?.body, { tool_choice: choice })
    }
  }),
)

describe("answers", () => {
  for (const vendor of VENDOR_NAMES) {
    it.effect(`${vendor}: come back as function_call, whole and streamed alike`, () =>
      Effect.gen(function* () {
        const whole = yield* canned(vendor, () => json(jsonFixture(`${vendor}-tools`)))
        const streamed = yield* canned(vendor, () => events(eventFixture(`${vendor}-stream-tools`)))
        const completion = yield* whole.provider.complete(request)
        const chunks = yield* Stream.runCollect(streamed.provider.stream(request))
        for (const { choices } of [completion, accumulate(chunks)]) {
          assert.strictEqual(choices[0]?.finish_reason, "function_call")
          assert.match(choices[0]?.message.function_call?.name ?? "", /^get_(current_)?weather$/)
          assert.property(JSON.parse(choices[0]?.message.function_call?.arguments ?? ""), "location")
        }
        assert.isTrue(
          chunks.every(({ choices }) =>
            choices.every(({ delta }) => delta.tool_calls?.every(({ index }) => index > 0) ?? true),
          ),
        )
      }),
    )

    it.effect(`${vendor}: callers of tools get tool calls`, () =>
      Effect.gen(function* () {
        const { provider } = yield* canned(vendor, () => json(jsonFixture(`${vendor}-tools`)))
        const { choices } = yield* provider.complete({ messages: request.messages })
        assert.strictEqual(choices[0]?.finish_reason, "tool_calls")
        assert.isUndefined(choices[0]?.message.function_call)
        assert.isAbove(choices[0]?.message.tool_calls?.length ?? 0, 1)
      }),
    )
  }

  it.effect("calls beyond the first stay tool calls, none is lost", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("openai", () => json(jsonFixture("openai-tools")))
      const { choices } = yield* provider.complete(request)
      assert.deepStrictEqual(
        choices[0]?.message.tool_calls?.map((toolCall) => toolCall.function.name),
        ["get_current_time"],
      )
    }),
  )

  it.effect("gemini: a thought signature survives on a function_call", () =>
    Effect.gen(function* () {
      const { provider, sent } = yield* canned("gemini", () => json(jsonFixture("gemini-tools")))
      const answer = (yield* provider.complete(request)).choices[0]?.message.function_call
      assert.isDefined(answer)
      yield* provider.complete({
        ...request,
        messages: [
          { role: "user", content: "hi" },
          { role: "assistant", function_call: answer ?? null },
          { role: "function", name: answer?.name ?? "", content: "sun" },
        ],
      })
      assert.include(JSON.stringify(sent[1]?.body), '"thoughtSignature":"CvcQAXLI2nwM"')
    }),
  )

  it.effect("an answer without a call stays as it is", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("openai", () => json(MINIMAL.openai))
      const { choices } = yield* provider.complete(request)
      assert.deepStrictEqual(choices[0]?.message, { role: "assistant", content: "ok", refusal: null })
    }),
  )
})

describe("echo", () => {
  const ask = (content: string): ChatRequest => ({
    messages: [{ role: "user", content }],
    functions: [{ name: "get_weather" }, { name: "get_time" }],
  })

  it.effect("answers with a function_call, whole and streamed alike, and with one only", () =>
    Effect.gen(function* () {
      const asked = ask('get_weather and get_time {"location":"Paris"}')
      for (const { choices } of [
        yield* echo.complete(asked),
        accumulate(yield* Stream.runCollect(echo.stream(asked))),
      ]) {
        assert.strictEqual(choices[0]?.finish_reason, "function_call")
        assert.deepStrictEqual(choices[0]?.message.function_call, {
          name: "get_weather",
          arguments: '{"location":"Paris"}',
        })
        assert.isUndefined(choices[0]?.message.tool_calls)
      }
    }),
  )

  it.effect("calls the function that function_call names, or none", () =>
    Effect.gen(function* () {
      const named = yield* echo.complete({ ...ask("what now?"), function_call: { name: "get_time" } })
      assert.strictEqual(named.choices[0]?.message.function_call?.name, "get_time")
      const none = yield* echo.complete({ ...ask("get_time"), function_call: "none" })
      assert.strictEqual(none.choices[0]?.message.content, "get_time")
      assert.strictEqual(none.choices[0]?.finish_reason, "stop")
    }),
  )

  it.effect("says a function's result back", () =>
    Effect.gen(function* () {
      const { choices } = yield* echo.complete({ ...request, function_call: "auto" })
      assert.strictEqual(choices[0]?.message.content, "")
      assert.isUndefined(choices[0]?.message.function_call)
    }),
  )

  it.effect("callers of tools get tool calls, as many as they ask for", () =>
    Effect.gen(function* () {
      const tools = ["get_weather", "get_time"].map((name) => ({ type: "function" as const, function: { name } }))
      const asked: ChatRequest = { messages: [{ role: "user", content: "get_weather, get_time" }], tools }
      const both = yield* echo.complete(asked)
      assert.lengthOf(both.choices[0]?.message.tool_calls ?? [], 2)
      const single = yield* echo.complete({ ...asked, parallel_tool_calls: false })
      assert.lengthOf(single.choices[0]?.message.tool_calls ?? [], 1)
    }),
  )

  it.effect("refuses functions beside tools", () =>
    Effect.gen(function* () {
      const wrong: ChatRequest = { ...request, tools: [] }
      for (const call of [echo.complete(wrong), Stream.runDrain(echo.stream(wrong))]) {
        const failure = yield* Effect.flip(call)
        assert.strictEqual(failure.kind, "unsupported")
        assert.include(failure.detail === undefined ? "" : Redacted.value(failure.detail), "functions: ")
      }
    }),
  )
})

describe("refused", () => {
  const rows: ReadonlyArray<readonly [name: string, request: ChatRequest, detail: string]> = [
    ["functions beside tools", { ...request, tools: [] }, "functions: "],
    [
      "a result without its call",
      { messages: [{ role: "function", name: "get_weather", content: "sun" }], functions: [] },
      "messages[0]: ",
    ],
  ]
  for (const vendor of VENDOR_NAMES) {
    for (const [name, wrong, detail] of rows) {
      it.effect(`${vendor}: ${name}`, () =>
        Effect.gen(function* () {
          const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]))
          const failure = yield* Effect.flip(provider.complete(wrong))
          assert.strictEqual(failure.kind, "unsupported")
          assert.include(failure.detail === undefined ? "" : Redacted.value(failure.detail), detail)
          assert.isEmpty(sent)
        }),
      )
    }
  }
})
