/** Answers and failures of the Messages and the Responses API, as callers of these APIs get them. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Redacted, Stream } from "effect"
import type { ApiName } from "../../../../src/domain/upstream/apis.ts"
import type { FailureKind } from "../../../../src/domain/upstream/failures.ts"
import { RawObject } from "../../../../src/domain/json/rawObject.ts"
import type { NativeAnswer, NativeCall, ProviderFailure } from "../../../../src/services/upstream/Provider.ts"
import { MessagesReading } from "../../../../src/services/upstream/answerReaders/messages.ts"
import { ResponsesReading } from "../../../../src/services/upstream/answerReaders/responses.ts"
import { canned, events, json, type Vendor } from "../providers/support/Canned.ts"

const VENDOR: Readonly<Record<ApiName, Vendor>> = {
  "chat.completions": "openai",
  responses: "openai",
  embeddings: "openai",
  messages: "anthropic",
  "messages.count_tokens": "anthropic",
}

const nativeWith = Effect.fnUntraced(function* (api: ApiName, response: () => Response, body = RawObject.of({})) {
  const { provider } = yield* canned(VENDOR[api], response)
  if (provider.native === undefined) return yield* Effect.die("speaks no API")
  const call: NativeCall = { api, body, headers: {}, model: "asked" }
  return { native: provider.native, call }
})

const wholeFrom = Effect.fnUntraced(function* (api: ApiName, response: () => Response, body?: RawObject) {
  const { call, native } = yield* nativeWith(api, response, body)
  return yield* native.complete(call)
})

/** The pieces that came, and the failure if there was one. */
const streamFrom = Effect.fnUntraced(function* (api: ApiName, response: () => Response) {
  const { call, native } = yield* nativeWith(api, response)
  const pieces: Array<unknown> = []
  const exit = yield* Effect.exit(
    Stream.runForEach(native.stream(call), (piece) => Effect.sync(() => pieces.push(piece))),
  )
  const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return { pieces, failure, succeeded: Exit.isSuccess(exit) }
})

const saidBy = (failure: ProviderFailure | undefined) =>
  failure?.said === undefined ? undefined : Redacted.value(failure.said)

type Event = Readonly<Record<string, unknown>>

const USAGE = {
  input_tokens: 3,
  cache_read_input_tokens: 10,
  cache_creation_input_tokens: 2,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
  output_tokens: 1,
}
const start: Event = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-1",
    content: [],
    stop_reason: null,
    usage: USAGE,
  },
}
const text = (piece: string, index = 0): Event => ({
  type: "content_block_delta",
  index,
  delta: { type: "text_delta", text: piece },
})
const begin = (content_block: Event, index = 0): Event => ({ type: "content_block_start", index, content_block })
const end = (index = 0): Event => ({ type: "content_block_stop", index })
const stop = (stop_reason: string | null, output_tokens = 7): Event => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null },
  usage: { output_tokens },
})
const over: Event = { type: "message_stop" }
const MESSAGE: ReadonlyArray<Event> = [
  start,
  begin({ type: "thinking", thinking: "", signature: "" }),
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
  end(),
  begin({ type: "text", text: "" }, 1),
  text("Hel", 1),
  text("lo", 1),
  end(1),
  begin({ type: "tool_use", id: "toolu_1", name: "look", input: {} }, 2),
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"a":1' } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: ".0}" } },
  end(2),
  stop("tool_use"),
  over,
]

const numbered = (all: ReadonlyArray<Event>): ReadonlyArray<Event> =>
  all.map((event, sequence_number) => ({ ...event, sequence_number }))
const response = (status: string, more: Event = {}): Event => ({
  id: "resp_1",
  object: "response",
  model: "gpt-1",
  status,
  output: [],
  error: null,
  usage: null,
  ...more,
})
const SPENT = {
  usage: {
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 20 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 35,
  },
}
const created: Event = { type: "response.created", response: response("in_progress") }
const piece = (delta: string): Event => ({
  type: "response.output_text.delta",
  item_id: "item_1",
  output_index: 0,
  content_index: 0,
  delta,
})
const completed: Event = { type: "response.completed", response: response("completed", SPENT) }
const RESPONSE = numbered([
  created,
  { type: "response.in_progress", response: response("in_progress") },
  { type: "response.output_item.added", output_index: 0, item: { id: "item_1", type: "message", content: [] } },
  piece("Hel"),
  piece("lo"),
  { type: "response.output_text.done", item_id: "item_1", output_index: 0, content_index: 0, text: "Hello" },
  { type: "response.output_item.done", output_index: 0, item: { id: "item_1", type: "message" } },
  completed,
])

const asEvents = (all: ReadonlyArray<Event | string>): ReadonlyArray<string> =>
  all.map((event) =>
    typeof event === "string" ? event : `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`,
  )

const PINGS = ['event: ping\ndata: {"type": "ping"}\n\n', ": comment\n\n"]

describe("a stream", () => {
  it.effect("passes on every event as it came, except pings", () =>
    Effect.gen(function* () {
      const withPings = [...PINGS, ...asEvents(MESSAGE).flatMap((event) => [event, ...PINGS])]
      assert.deepStrictEqual<unknown>((yield* streamFrom("messages", () => events(withPings))).pieces, MESSAGE)
      assert.deepStrictEqual<unknown>(
        (yield* streamFrom("responses", () => events(asEvents(RESPONSE)))).pieces,
        RESPONSE,
      )
    }),
  )

  it.effect.each([
    ["messages", MESSAGE],
    ["responses", RESPONSE],
  ] as const)("of %s that is cut after any event, or within one, is truncated", ([api, all]) =>
    Effect.gen(function* () {
      const pieces = asEvents(all)
      for (let kept = 0; kept < pieces.length; kept++) {
        const cut = [...pieces.slice(0, kept), (pieces[kept] ?? "").slice(0, -3)]
        for (const [sent, kind] of [
          [pieces.slice(0, kept), "truncated"],
          [cut, "truncated"],
          [[...pieces.slice(0, kept), "data: [DONE]\n\n"], "unfinished"],
        ] as const) {
          const { failure, succeeded } = yield* streamFrom(api, () => events(sent))
          assert.isFalse(succeeded, `${kept} events`)
          assert.strictEqual(failure?.kind, kind, `${kept} events`)
        }
      }
      assert.isTrue((yield* streamFrom(api, () => events(pieces))).succeeded)
    }),
  )

  it("keeps what was written for an hour if the end of the stream does not repeat it", () => {
    for (const [odd, expected] of [
      [{ iterations: [] }, 1],
      [{ cache_creation: {} }, 1],
      [{ cache_creation: "odd" }, 1],
      [{ cache_creation: { ephemeral_1h_input_tokens: 2 } }, 2],
    ] as const) {
      const message = new MessagesReading()
      message.add({ type: "message_start", message: { id: "msg_1", model: "claude-1", usage: USAGE } })
      message.add({ type: "message_delta", delta: {}, usage: { output_tokens: 7, ...odd } })
      assert.strictEqual(message.said.usage?.prompt_tokens_details?.cache_write_1h_tokens, expected)
    }
  })

  it.effect("reports its usage, caches included, in the terms of receipts", () =>
    Effect.sync(() => {
      const message = new MessagesReading()
      for (const event of MESSAGE) assert.isUndefined(message.add(event))
      assert.deepStrictEqual(message.said, {
        model: "claude-1",
        finishReasons: ["tool_use"],
        usage: {
          prompt_tokens: 15,
          completion_tokens: 7,
          total_tokens: 22,
          prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 2, cache_write_1h_tokens: 1 },
        },
      })
      const answer = new ResponsesReading()
      for (const event of RESPONSE) assert.isUndefined(answer.add(event))
      assert.deepStrictEqual(answer.said, {
        id: "resp_1",
        model: "gpt-1",
        finishReasons: ["completed"],
        usage: {
          prompt_tokens: 30,
          completion_tokens: 5,
          total_tokens: 35,
          prompt_tokens_details: { cached_tokens: 20 },
          completion_tokens_details: { reasoning_tokens: 4 },
        },
      })
    }),
  )

  it("has output from the first piece of an answer on", () => {
    const message = new MessagesReading()
    const answer = new ResponsesReading()
    assert.deepStrictEqual(
      MESSAGE.slice(0, 3).map((event) => message.hasOutput(event)),
      [false, false, true],
    )
    assert.isFalse(message.hasOutput(text("")))
    assert.isFalse(message.hasOutput(begin({ type: "text", text: "" })))
    assert.isTrue(message.hasOutput(begin({ type: "tool_use", id: "t", name: "n", input: {} })))
    assert.isTrue(message.hasOutput(begin({ type: "redacted_thinking", data: "x" })))
    assert.deepStrictEqual(
      RESPONSE.slice(0, 4).map((event) => answer.hasOutput(event)),
      [false, false, false, true],
    )
    assert.isFalse(answer.hasOutput({ type: "keepalive", sequence_number: 3 }))
  })

  const failed = (error: Event): Event => ({ type: "response.failed", response: response("failed", { error }) })
  const error = (type: string): Event => ({ type: "error", error: { type, message: "no" } })
  const ended = (status: string): Event => ({ type: `response.${status}`, response: response(status) })
  const NASTY: ReadonlyArray<readonly [string, ApiName, ReadonlyArray<Event | string>, FailureKind]> = [
    ["nothing", "messages", [], "truncated"],
    ["pings alone", "messages", PINGS, "truncated"],
    ["a page", "messages", ["data: <html>busy</html>\n\n"], "garbage"],
    ["half of an object", "messages", [start, 'event: content_block_delta\ndata: {"type":"content_b\n\n'], "garbage"],
    ["a piece before the message", "messages", [text("Hi"), over], "garbage"],
    ["two messages", "messages", [start, text("Hi"), start, text("again"), stop("end_turn"), over], "garbage"],
    ["a stop without a reason", "messages", [start, text("Hi"), stop(null), over], "unfinished"],
    ["a stop without a word of a reason", "messages", [start, text("Hi"), over], "unfinished"],
    ["a reason that is empty", "messages", [start, text("Hi"), stop(""), over], "unfinished"],
    ["a piece without a delta", "messages", [start, { type: "content_block_delta", index: 0 }], "garbage"],
    ["a block of text", "messages", [start, { type: "content_block_start", content_block: "x" }], "garbage"],
    ["a message that is a list", "messages", [{ type: "message_start", message: [] }], "garbage"],
    ["a list of events", "messages", [`data: ${JSON.stringify(MESSAGE)}\n\n`], "garbage"],
    ["an overload", "messages", [start, error("overloaded_error")], "unavailable"],
    ["an overload at once", "messages", [error("overloaded_error")], "unavailable"],
    ["a rate limit", "messages", [start, text("Hi"), error("rate_limit_error")], "rate-limited"],
    ["OpenAI's error", "messages", [start, 'data: {"error":{"type":"server_error"}}\n\n'], "unavailable"],
    ["an error of text", "messages", [start, "event: error\ndata: upstream connect error\n\n"], "unavailable"],
    ["a response before it was created", "responses", [piece("Hi"), completed], "garbage"],
    ["an event without a type", "responses", [created, 'data: {"delta":"Hi"}\n\n'], "garbage"],
    ["a type that is a number", "responses", [created, 'data: {"type":7}\n\n'], "garbage"],
    ["no end", "responses", [created, { ...completed, response: response("in_progress") }], "unfinished"],
    ["an end without a response", "responses", [created, { type: "response.completed" }], "garbage"],
    ["a failure of the server", "responses", [created, piece("Hi"), failed({ code: "server_error" })], "unavailable"],
    ["a failure by rate", "responses", [created, failed({ code: "rate_limit_exceeded" })], "rate-limited"],
    ["a failure by policy", "responses", [created, failed({ code: "invalid_prompt" })], "content-filtered"],
    ["a failure without a word", "responses", [created, ended("failed")], "unavailable"],
    ["a cancellation", "responses", [created, ended("cancelled")], "unavailable"],
    ["an error event", "responses", [created, { type: "error", code: "server_error", message: "x" }], "unavailable"],
    ["chunks of a chat", "responses", ['data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'], "garbage"],
    ["the end alone", "responses", ["data: [DONE]\n\n"], "unfinished"],
  ]
  it.effect.each(NASTY)("of %s (%s) is no answer", ([name, api, sent, kind]) =>
    Effect.gen(function* () {
      // In one piece, and byte by byte.
      const whole = asEvents(sent).join("")
      for (const pieces of [[whole], [...new TextEncoder().encode(whole)].map((byte) => Uint8Array.of(byte))]) {
        const { failure, succeeded } = yield* streamFrom(api, () => events(pieces))
        assert.isFalse(succeeded, name)
        assert.strictEqual(failure?.kind, kind, name)
      }
    }),
  )

  it.effect("ends with its last event and ignores what follows", () =>
    Effect.gen(function* () {
      for (const after of [over, text("more"), { type: "error", error: { type: "api_error", message: "late" } }]) {
        const { pieces, succeeded } = yield* streamFrom("messages", () => events(asEvents([...MESSAGE, after])))
        assert.isTrue(succeeded)
        assert.strictEqual(pieces.length, MESSAGE.length)
      }
    }),
  )

  it.effect("is refused in place of a whole answer", () =>
    Effect.gen(function* () {
      const { failure } = yield* streamFrom("messages", () =>
        json({ type: "message", content: [], stop_reason: "end_turn" }),
      )
      assert.strictEqual(failure?.kind, "garbage")
    }),
  )

  it.effect("passes on an error in its vendor's words", () =>
    Effect.gen(function* () {
      const error = { type: "overloaded_error", message: "Overloaded" }
      const { failure } = yield* streamFrom("messages", () => events(asEvents([start, { type: "error", error }])))
      assert.deepStrictEqual(saidBy(failure), { status: 529, error })
      const failing = yield* streamFrom("responses", () =>
        events(asEvents([created, failed({ code: "server_error", message: "boom" })])),
      )
      assert.deepStrictEqual(saidBy(failing.failure), { status: 500, error: { code: "server_error", message: "boom" } })
    }),
  )
})

describe("a whole answer", () => {
  const WHOLE: ReadonlyArray<readonly [ApiName, string, Partial<NativeAnswer["said"]>]> = [
    [
      "messages",
      '{ "type":"message","model":"claude-1","content":[{"type":"tool_use","id":"t","name":"n","input":{"x":1.0,"y":12345678901234567890}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2} }',
      { model: "claude-1", finishReasons: ["tool_use"] },
    ],
    ["messages.count_tokens", '{"input_tokens": 5}', { model: "asked", finishReasons: [], usage: null }],
    [
      "responses",
      '{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[ ]}',
      { model: "asked", finishReasons: ["max_output_tokens"], usage: null },
    ],
    [
      "embeddings",
      '{"data":[{"embedding":[0.10,1E-3]},{"embedding":"AAA="}],"model":"e","usage":{"prompt_tokens":4,"total_tokens":4}}',
      { model: "e", finishReasons: [], usage: { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 } },
    ],
  ]
  it.effect.each(WHOLE)("of %s is passed on as it was written", ([api, body, said]) =>
    Effect.gen(function* () {
      const answer = yield* wholeFrom(api, () => json(body))
      assert.strictEqual(answer.json, body)
      assert.deepInclude(answer.said, said)
    }),
  )

  it.effect("that is not I-JSON is passed on as equal I-JSON", () =>
    Effect.gen(function* () {
      const body = '{"type":"message","a":1,"a":2,"content":["\\ud83d"],"stop_reason":"end_turn"}'
      const { json: handed } = yield* wholeFrom("messages", () => json(body))
      assert.strictEqual(handed, '{"type":"message","a":2,"content":["\uFFFD"],"stop_reason":"end_turn"}')
    }),
  )

  const SHORT: ReadonlyArray<readonly [string, ApiName, unknown, FailureKind]> = [
    ["a message that goes on", "messages", { type: "message", content: [], stop_reason: null }, "unfinished"],
    ["no message", "messages", { hello: 1 }, "garbage"],
    ["a list", "messages", [], "garbage"],
    ["text", "messages", '"busy"', "garbage"],
    ["a chat", "messages", { object: "chat.completion", choices: [] }, "garbage"],
    ["a response that goes on", "responses", response("in_progress"), "unfinished"],
    ["a response in a queue", "responses", response("queued"), "unfinished"],
    ["a response without a status", "responses", { output: [] }, "unfinished"],
    ["a response without output", "responses", { status: "completed" }, "garbage"],
    ["a response that failed", "responses", response("failed", { error: { code: "server_error" } }), "unavailable"],
    ["a response that was cancelled", "responses", response("cancelled"), "unavailable"],
    ["embeddings without any", "embeddings", { data: [{ index: 0 }] }, "garbage"],
    ["no embeddings", "embeddings", { object: "list" }, "garbage"],
    ["an empty list of embeddings", "embeddings", { object: "list", data: [] }, "garbage"],
    ["a count that is text", "messages.count_tokens", { input_tokens: "5" }, "garbage"],
    ["an error", "messages", { type: "error", error: { type: "api_error", message: "x" } }, "unavailable"],
    ["a stream", "messages", "data: {}\n\n", "garbage"],
    [
      "too many levels",
      "messages",
      `{"content":[],"stop_reason":"end_turn","x":${"[".repeat(1100)}${"]".repeat(1100)}}`,
      "garbage",
    ],
  ]
  it.effect.each(SHORT)("is not %s", ([name, api, body, kind]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(wholeFrom(api, () => json(body)))
      assert.strictEqual(failure.kind, kind, name)
    }),
  )
})

describe("embeddings", () => {
  it.effect.each<readonly [input: unknown, vectors: number, isWhole: boolean]>([
    ["a", 1, true],
    ["a", 2, false],
    [["a", "b"], 2, true],
    [["a", "b"], 1, false],
    [[1, 2, 3], 1, true],
    [[[1], [2, 3]], 2, true],
    [[], 0, true],
  ])("of the input %j in %d vectors count as whole: %s", ([input, length, isWhole]) =>
    Effect.gen(function* () {
      const answer = { data: Array.from({ length }, () => ({ embedding: [0.5] })) }
      const read = yield* Effect.exit(wholeFrom("embeddings", () => json(answer), RawObject.of({ input })))
      assert.strictEqual(Exit.isSuccess(read), isWhole)
    }),
  )
})

describe("an event of more levels than clients accept", () => {
  it.effect.each(["messages", "responses", "chat.completions"] as const)("is garbage (%s)", (api) =>
    Effect.gen(function* () {
      const deep = `{"type":"x","choices":[],"x":${"[".repeat(1100)}${"]".repeat(1100)}}`
      const { failure, pieces } = yield* streamFrom(api, () => events([`data: ${deep}\n\n`]))
      assert.strictEqual(failure?.kind, "garbage")
      assert.match(Redacted.value(failure?.detail ?? Redacted.make("")), /not JSON/)
      assert.deepStrictEqual(pieces, [])
    }),
  )
})

describe("an error", () => {
  const anthropic = (type: string, message: string) => ({
    type: "error",
    error: { type, message },
    request_id: "req_1",
  })
  const openai = (type: string, code: string | null, message: string) => ({
    error: { message, type, param: "model", code },
  })
  const DOCUMENTED: ReadonlyArray<readonly [ApiName, number, unknown, FailureKind]> = [
    ["messages", 401, anthropic("authentication_error", "invalid x-api-key"), "unauthorized"],
    ["messages", 404, anthropic("not_found_error", "model: claude-0"), "unknown-model"],
    ["messages", 529, anthropic("overloaded_error", "Overloaded"), "unavailable"],
    ["messages.count_tokens", 400, anthropic("invalid_request_error", "messages: Field required"), "invalid-request"],
    ["responses", 400, openai("invalid_request_error", "unsupported_parameter", "no such thing"), "incapable"],
    ["responses", 429, openai("requests", "rate_limit_exceeded", "too fast"), "rate-limited"],
    ["embeddings", 400, openai("x", null, "maximum context length is 8192 tokens"), "context-too-long"],
  ]
  it.effect.each(DOCUMENTED)(
    "of %s with status %d keeps its vendor's words, unless they are about the key",
    ([api, status, body, kind]) =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(wholeFrom(api, () => json(body, { status })))
        assert.strictEqual(failure.kind, kind)
        const { error } = body as { readonly error: unknown }
        assert.deepStrictEqual<unknown>(saidBy(failure), kind === "unauthorized" ? undefined : { status, error })
        if (api !== "messages" && api !== "responses") return
        const streamed = yield* streamFrom(api, () => json(body, { status }))
        assert.deepStrictEqual({ ...streamed.failure }, { ...failure })
      }),
  )

  it.effect("shows neither the operator's key nor members that no SDK reads", () =>
    Effect.gen(function* () {
      const message = `the-secret-key ${"x".repeat(1990)}the-secret-key`
      const error = {
        type: "invalid_request_error",
        message,
        code: 7,
        innererror: { key: "the-secret-key" },
        param: ["a"],
      }
      const failure = yield* Effect.flip(wholeFrom("responses", () => json({ error }, { status: 400 })))
      assert.deepStrictEqual(saidBy(failure), {
        status: 400,
        error: { type: "invalid_request_error", code: 7, message: `[key] ${"x".repeat(1990)}[key]`.slice(0, 2000) },
      })
    }),
  )
})
