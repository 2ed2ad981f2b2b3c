/**
 * Streams that deviate from their format. What is harmless must not cost an answer; what is short, or was put together
 * of pieces that do not fit, must not pass for one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import { ChatChunk } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { canned, events, json, type Vendor } from "./support/Canned.ts"
import { failureOf, gistOf, REQUEST, sse } from "./support/raw.ts"

const isChunk = Schema.is(ChatChunk)

/** Reads a stream at once and byte by byte, and returns its outcome in one line. */
const outcome = Effect.fnUntraced(function* (vendor: Vendor, text: string) {
  const bytes = new TextEncoder().encode(text)
  const piecewise = Array.from({ length: bytes.length }, (_, at) => bytes.subarray(at, at + 1))
  const [whole, pieces] = yield* Effect.forEach([[bytes], piecewise], (sent) =>
    Effect.gen(function* () {
      const { provider } = yield* canned(vendor, () => events(sent))
      const read = yield* Effect.result(Stream.runCollect(provider.stream(REQUEST)))
      if (Result.isFailure(read)) return failureOf(read.failure)
      assert.isTrue(read.success.every(isChunk))
      return gistOf(accumulate(read.success))
    }),
  )
  assert.strictEqual(pieces, whole)
  return whole
})

type Row = readonly [name: string, stream: string, outcome: string]

const each = (vendor: Vendor, rows: ReadonlyArray<Row>) =>
  it.effect.each(rows)("%s", ([, stream, expected]) =>
    Effect.map(outcome(vendor, stream), (found) => assert.strictEqual(found, expected)),
  )

const CUT = "truncated: the answer broke off within an event"
const NO_END = "truncated: the answer ended before it was finished"
const CLOSED = "unfinished: the provider closed the stream without a finish reason"
const NOT_JSON = "garbage: an event is not JSON"
const NO_CHUNK = "garbage: an event is not a chunk"

describe("openai", () => {
  const choice = (members: object) => ({ id: "c", created: 1, model: "m", choices: [{ index: 0, ...members }] })
  const piece = (delta: unknown, finish_reason: unknown = null) => choice({ delta, finish_reason })
  const [hel, lo, stop] = [piece({ content: "Hel" }), piece({ content: "lo" }), piece({}, "stop")]
  const between = (...events: ReadonlyArray<unknown>) => sse(hel, ...events, lo, stop)
  const textPart = (text: string) => ({ type: "text", text })
  const parts = (...content: ReadonlyArray<object>) => piece({ content })
  const usage = { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }
  const called = (...pieces: ReadonlyArray<unknown>) =>
    sse(...pieces.map((call) => piece({ tool_calls: Array.isArray(call) ? call : [call] })), piece({}, "tool_calls"))
  const call = (members: object, name: string | null | undefined, args?: unknown) => ({
    ...members,
    function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
  })

  // The property of harmless events in Answers.test.ts covers the usual ones for every format.
  describe("events without content", () =>
    each("openai", [
      ["no choices", between({ id: "c" }), "Hello stop"],
      ["choices empty", between({ id: "c", choices: [] }), "Hello stop"],
      ["an object of another kind", between({ type: "ping" }, { type: 7 }), "Hello stop"],
      ["comments", `: hi\n:\n\n${between()}: bye\n\n`, "Hello stop"],
      ["a reconnection time", `retry: 10\nid: 7\n\n${between()}`, "Hello stop"],
      ["text without a name", between("alive"), NOT_JSON],
      ["a garbled chunk under another name", `event: chunk\ndata: {"choices":[{"de\n\n${between()}`, NOT_JSON],
      ["a list", between([1]), "garbage: an event is not a JSON object"],
      ["a text", between('"x"'), "garbage: an event is not a JSON object"],
    ]))

  describe("lines", () => {
    const plain = sse(hel, lo, stop, "[DONE]")
    each("openai", [
      ["CRLF", plain.replaceAll("\n", "\r\n"), "Hello stop"],
      ["CR", plain.replaceAll("\n", "\r"), "Hello stop"],
      ["a byte order mark", `\ufeff${plain}`, "Hello stop"],
      ["no space behind the colon", plain.replaceAll("data: ", "data:"), "Hello stop"],
      ["names of events", plain.replaceAll("data:", "event: completion.chunk\ndata:"), "Hello stop"],
      ["data in several lines", sse(hel, JSON.stringify(stop, null, 1).replaceAll("\n", "\ndata: ")), "Hel stop"],
      ["characters of every length", sse(piece({ content: "aé世🌍" }, "stop")), "aé世🌍 stop"],
      [
        "a character in two escapes",
        sse('{"choices":[{"delta":{"content":"\\ud83c"}}]}', piece({ content: "\udf0d" }, "stop")),
        "🌍 stop",
      ],
      ["no line end behind the last", plain.slice(0, plain.indexOf("data: [DONE]") - 2), "Hello stop"],
      ["half an event at the end", plain.slice(0, plain.indexOf("data: [DONE]") - 4), CUT],
    ])
  })

  describe("the end", () =>
    each("openai", [
      ["no sentinel", sse(hel, lo, stop), "Hello stop"],
      ["a second sentinel", sse(hel, lo, stop, "[DONE]", "[DONE]"), "Hello stop"],
      ["only a sentinel", sse("[DONE]"), CLOSED],
      ["a sentinel in place of the finish", sse(hel, "[DONE]"), CLOSED],
      ["an empty finish reason", sse(piece({ content: "Hello" }, "")), NO_END],
      [
        "a finish reason in letters that say there is none",
        sse(piece({ content: "Hel" }, "null"), lo, stop),
        "Hello stop",
      ],
      ["a finish before all content", sse(stop, hel, lo, "[DONE]"), "Hello stop"],
      ["content behind the finish", sse(hel, stop, lo), "Hello stop"],
      ["content behind a finish with usage", sse(hel, { ...stop, ...usage }, lo), "Hello stop"],
      [
        "the finish in every chunk",
        sse(piece({ content: "Hel" }, "stop"), piece({ content: "lo" }, "stop")),
        "Hello stop",
      ],
      ["content behind garbage behind the finish", sse(hel, lo, stop, "{", hel), "Hello stop"],
      ["another finish reason behind the first", sse(hel, stop, piece({}, "length")), "Hel length"],
      ["an error behind the finish", sse(hel, lo, stop, { error: { message: "no" } }), "unavailable: no"],
      ["garbage behind the finish", sse(hel, lo, stop, "{", { choices: 7 }), "Hello stop"],
      ["a finish that cannot be read", sse(hel, choice({ delta: { content: 7 }, finish_reason: "stop" })), NO_CHUNK],
      ["an error in words", `${sse(hel)}event: error\ndata: exploded\n\n`, "unavailable: exploded"],
    ]))

  describe("members", () =>
    each("openai", [
      [
        "nulls",
        sse(piece(null), piece({ role: null, content: null, refusal: null, tool_calls: null }), hel, lo, stop),
        "Hello stop",
      ],
      [
        "nothing but what is needed",
        sse({ choices: [{ delta: { content: "Hello" } }] }, { choices: [{ finish_reason: "stop" }] }),
        "Hello stop",
      ],
      [
        "a head of other types",
        sse({ ...piece({ content: "Hello" }, "stop"), id: 7, created: "x", model: {} }),
        "Hello stop",
      ],
      [
        "a time beyond all numbers",
        sse(JSON.stringify(piece({ content: "Hello" }, "stop")).replace('"created":1', '"created":1e999')),
        "Hello stop",
      ],
      ["usage of another shape", sse(hel, lo, stop, { choices: [], usage: { prompt_tokens: "x" } }), "Hello stop"],
      [
        "content in parts",
        sse(
          parts({ type: "thinking" }, textPart("Hel")),
          parts(textPart("l"), { type: "reference" }, textPart("o")),
          stop,
        ),
        "Hello stop",
      ],
      [
        "media in parts",
        sse(hel, piece({ content: [{ type: "audio", audio: "" }] }), stop),
        "garbage: a content part of type audio in a stream",
      ],
    ]))

  describe("whole messages", () => {
    const message = (members: unknown, finish_reason: string | null = "stop") =>
      choice({ message: members, finish_reason })
    const tools = [{ id: "a", type: "function", function: { name: "f", arguments: { x: 1 } } }]
    each("openai", [
      [
        "in place of pieces",
        sse({ ...message({ role: "assistant", content: "Hello" }), ...usage }, "[DONE]"),
        "Hello stop",
      ],
      [
        "in place of pieces, with calls",
        sse(message({ content: null, tool_calls: tools }, "tool_calls")),
        'a:f{"x":1} tool_calls',
      ],
      ["behind pieces, once more", sse(hel, lo, message({ role: "assistant", content: "Hello" })), "Hello stop"],
      [
        "behind calls, once more",
        sse(
          piece({ tool_calls: [{ index: 0, ...tools[0] }] }),
          message({ content: "", tool_calls: tools }, "tool_calls"),
        ),
        'a:f{"x":1} tool_calls',
      ],
      ["behind pieces, without a word", sse(hel, lo, message({ role: "assistant" })), "Hello stop"],
      [
        "each longer than the one before",
        sse(message({ content: "Hel" }, null), message({ content: "Hello" })),
        "Hello stop",
      ],
      [
        "beside pieces",
        sse(choice({ delta: { content: "Hello" }, message: { content: "x" }, finish_reason: "stop" })),
        "Hello stop",
      ],
      [
        "that are not what the pieces were",
        sse(hel, message({ content: "Bye" })),
        "garbage: a whole message is not what its pieces were",
      ],
      ["that are none", sse(hel, message("Hello")), "garbage: a choice has a malformed message"],
    ])
  })

  describe("tool calls", () => {
    const two = 'a:f{"x":1} b:g{"y":2} tool_calls'
    const alike = 'a:f{"x":1} b:f{"x":2} tool_calls'
    const nameless = 'c_0_0:f{"x":1} c_0_1:f{"x":2} tool_calls'
    const [x1, x2, y2] = ['{"x":1}', '{"x":2}', '{"y":2}']
    /** A piece with an index of 0, or with no index. */
    const at0 = (id: string | undefined, name?: string | null, args?: unknown) =>
      call({ index: 0, ...(id === undefined ? {} : { id }) }, name, args)
    const by = (id: string | undefined, name?: string, args?: unknown) =>
      call(id === undefined ? {} : { id }, name, args)
    const at1 = (id: string, name?: string, args?: unknown) => call({ index: 1, id }, name, args)
    const none = undefined
    each("openai", [
      ["one index for all, each in one piece", called(at0("a", "f", x1), at0("b", "g", y2)), two],
      ["one index for all, in one chunk", called([at0("a", "f", x1), at0("b", "g", y2)]), two],
      [
        "one index for all, in pieces",
        called(
          at0("a", "f", ""),
          at0(none, none, '{"x"'),
          at0(none, none, ":1}"),
          at0("b", "g", ""),
          at0(none, none, y2),
        ),
        two,
      ],
      ["one index and name for all", called(at0("a", "f", x1), at0("b", "f", x2)), alike],
      ["one index and name, no arguments", called(at0("a", "f", ""), at0("b", "f", "")), "a:f b:f tool_calls"],
      [
        "one index, no ids, other names",
        called(at0(none, "f", '{"x"'), at0(none, "g", y2)),
        'c_0_0:f{"x" c_0_1:g{"y":2} tool_calls',
      ],
      ["one index and name, no ids", called(at0("", "f", x1), at0("", "f", x2)), nameless],
      [
        "one index, name and id for all",
        called(at0("a", "f", x1), at0("a", "f", x2)),
        'a:f{"x":1} c_0_1:f{"x":2} tool_calls',
      ],
      [
        "one index for all, in turns",
        called(at0("a", "f", '{"x"'), at0("b", "g", '{"y"'), at0("a", none, ":1}"), at0("b", none, ":2}")),
        two,
      ],
      [
        "another id for each piece of a call",
        called(at0("a", "f", '{"x"'), at0("a2", none, ":"), at0("a3", none, "1}"), at0("b", "g", y2)),
        two,
      ],
      ["no index", called(by("a", "f", '{"x"'), by(none, none, ":1}"), by("b", "g", y2)), two],
      [
        "no index, in turns",
        called(by("a", "f", '{"x"'), by("b", "g", '{"y"'), by("a", none, ":1}"), by("b", none, ":2}")),
        two,
      ],
      [
        "no index, an id only sometimes",
        called(by("a", "f", '{"x"'), by(none, "g", '{"y"'), by("a", none, ":1}")),
        'a:f{"x":1} c_0_1:g{"y" tool_calls',
      ],
      ["one id and name, no arguments", called(at0("a", "f", ""), at1("a", "f", "")), "a:f c_0_1:f tool_calls"],
      ["neither index nor id", called(by(none, "f", x1), call({ id: null, index: null }, "f", x2)), nameless],
      ["one id for all", called(at0("a", "f", x1), at1("a", "g", y2)), 'a:f{"x":1} c_0_1:g{"y":2} tool_calls'],
      [
        "another index for the rest of a call",
        called(at0("a", "f", '{"x"'), at1("a", none, ":1}")),
        'a:f{"x":1} tool_calls',
      ],
      [
        "id and name in every piece",
        called(at0("a", "f", '{"x"'), at0("a", "f", ":1}"), at0("a", "f", "")),
        'a:f{"x":1} tool_calls',
      ],
      [
        "the name in every piece, no id",
        called(at0(none, "f", '{"x":"}'), at0(none, "f", '\\"}"'), at0(none, "f", ',"y":[{}]}'), at0(none, "f", " ")),
        'c_0_0:f{"x":"}\\"}","y":[{}]}  tool_calls',
      ],
      [
        "indexes that begin late, and skip",
        called(call({ index: 3, id: "a" }, "f", x1), call({ index: 2 ** 53 - 1, id: "b" }, "g", y2)),
        two,
      ],
      [
        "id and name in pieces of their own",
        called({ index: 0, id: "a", function: null }, at0(none, "f"), at0(none, null, x1)),
        'a:f{"x":1} tool_calls',
      ],
      ["arguments that are an object", called(at0("a", "f", { x: 1 }), at0("b", "f", { x: 2 })), alike],
      ["arguments null", called(at0("a", "f", null)), "a:f tool_calls"],
      ["a piece of nothing", sse(piece({ content: "Hello", tool_calls: [at0(none, null, "")] }), stop), "Hello stop"],
      ["no name", called(at0("a", "", x1)), "garbage: a tool call has no name"],
      ["only arguments", called(at0(none, none, x1)), "garbage: a tool call has no name"],
      ["a null among them", called([null]), NO_CHUNK],
    ])

    it.effect("choices without an index are numbered by position", () =>
      Effect.gen(function* () {
        const both = { id: "c", choices: ["a", "b"].map((content) => ({ delta: { content }, finish_reason: "stop" })) }
        const { provider } = yield* canned("openai", () => events([sse(both)]))
        const { choices } = accumulate(yield* Stream.runCollect(provider.stream({ ...REQUEST, n: 2 })))
        assert.deepStrictEqual(
          choices.map(({ index, message }) => [index, message.content]),
          [
            [0, "a"],
            [1, "b"],
          ],
        )
      }),
    )

    it.effect("a name comes once, because some clients concatenate names", () =>
      Effect.gen(function* () {
        const stream = called(call({ index: 0, id: "a" }, "f", "{"), call({ index: 0, id: "a" }, "f", "}"))
        const { provider } = yield* canned("openai", () => events([stream]))
        const chunks = yield* Stream.runCollect(provider.stream(REQUEST))
        const pieces = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []))
        assert.deepStrictEqual(pieces, [
          { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{" } },
          { index: 0, function: { arguments: "}" } },
        ])
      }),
    )
  })
})

describe("anthropic", () => {
  const sent = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>): string =>
    events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join("")
  const start = {
    type: "message_start",
    message: { id: "m", model: "c", usage: { input_tokens: 3, output_tokens: 1 } },
  }
  const started = (message: object) => ({ type: "message_start", message })
  const begin = (content_block: unknown, index: unknown = 0) => ({ type: "content_block_start", index, content_block })
  const delta = (delta: unknown, index: unknown = 0) => ({ type: "content_block_delta", index, delta })
  const end = (index = 0) => ({ type: "content_block_stop", index })
  const finish = (stop_reason: unknown, rest: object = { usage: { output_tokens: 2 } }) => ({
    type: "message_delta",
    delta: { stop_reason },
    ...rest,
  })
  const [textBlock, stop, last] = [begin({ type: "text", text: "" }), finish("end_turn"), { type: "message_stop" }]
  const text = (text: unknown, index: unknown = 0) => delta({ type: "text_delta", text }, index)
  const args = (partial_json: unknown, index = 0) => delta({ type: "input_json_delta", partial_json }, index)
  const tool = (id: unknown, name: unknown, index = 0, input: unknown = {}) =>
    begin({ type: "tool_use", id, name, input }, index)
  const [hel, lo] = [text("Hel"), text("lo")]
  const between = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
    sent(start, textBlock, hel, ...events, lo, end(), stop, last)

  describe("events without content", () =>
    each("anthropic", [
      [
        "of a type that is not known",
        between({ type: "new" }, delta({ type: "citations_delta", citation: {} })),
        "Hello stop",
      ],
      ["of no type", sent(start) + sse({}, null) + sent(textBlock, text("Hello"), stop), "Hello stop"],
      ["a type that is no text", sent(start) + sse({ type: 7 }), "garbage: the type of an event is no text"],
      ["a garbled piece", `${sent(start)}event: content_block_delta\ndata: {"type":"con\n\n${sent(stop)}`, NOT_JSON],
    ]))

  describe("lines", () =>
    each("anthropic", [
      ["CR", between().replaceAll("\n", "\r"), "Hello stop"],
      ["no names of events", sse(start, textBlock, hel, lo, end(), stop, last), "Hello stop"],
      ["types in the names alone", between().replaceAll(/"type":"(message|content)_[a-z_]+",/g, ""), "Hello stop"],
    ]))

  describe("the end", () =>
    each("anthropic", [
      ["a sentinel of another format", `${between()}data: [DONE]\n\n`, "Hello stop"],
      ["a sentinel of another format in place of it", `${sent(start, textBlock, hel)}data: [DONE]\n\n`, CLOSED],
      [
        "no stop reason",
        sent(start, textBlock, hel, finish(null), last),
        "unfinished: the message stopped without a stop reason",
      ],
      ["an empty stop reason", sent(start, textBlock, hel, finish("")), NO_END],
      [
        "a delta without a stop reason first",
        between(finish(null), { type: "message_delta", usage: null }),
        "Hello stop",
      ],
      [
        "details of another shape",
        sent(
          start,
          textBlock,
          text("Hello"),
          finish("end_turn", { delta: { stop_reason: "end_turn", stop_details: 7 } }),
        ),
        "Hello stop",
      ],
      [
        "usage of another shape",
        sent(start, textBlock, text("Hello"), finish("end_turn", { usage: { output_tokens: 1.5 } })),
        "Hello stop",
      ],
      [
        "an error without a type",
        `${sent(start)}data: {"error":{"type":"overloaded_error","message":"no"}}\n\n`,
        "unavailable: no",
      ],
      ["an error of null", sent(start, textBlock, hel, { type: "error", error: null }), "unavailable"],
    ]))

  describe("the beginning", () =>
    each("anthropic", [
      ["nothing known of the message", sent(started({}), textBlock, text("Hello"), stop), "Hello stop"],
      ["nulls", sent(started({ id: null, model: null, usage: null }), textBlock, text("Hello"), stop), "Hello stop"],
      [
        "the blocks in it",
        sent(started({ content: ["Hel", "lo"].map((text) => ({ type: "text", text })) }), stop),
        "Hello stop",
      ],
      [
        "a call in it",
        sent(
          started({ id: "m", content: [{ type: "tool_use", id: "a", name: "f", input: { x: 1 } }] }),
          finish("tool_use"),
        ),
        'a:f{"x":1} tool_calls',
      ],
      ["twice, before anything", sent(start, start, textBlock, text("Hello"), stop), "Hello stop"],
      [
        "twice, in the middle",
        sent(start, textBlock, hel, start, textBlock, text("Hello"), stop),
        "garbage: a second message_start",
      ],
      [
        "twice, behind a block",
        sent(start, tool("a", "f"), start, textBlock, text("Hello"), stop),
        "garbage: a second message_start",
      ],
      ["none", sent(textBlock, text("Hello"), stop), "garbage: content_block_start before message_start"],
    ]))

  describe("blocks", () =>
    each("anthropic", [
      ["nulls", sent(start, begin({ type: "text", text: null }), text(null), text("Hello"), stop), "Hello stop"],
      [
        "no texts",
        sent(start, begin({ type: "text" }), delta({ type: "text_delta" }), text("Hello"), stop),
        "Hello stop",
      ],
      ["no index", sent(start, begin({ type: "text" }, null), text("Hello", null), stop), "Hello stop"],
      ["no type of a delta", sent(start, textBlock, delta({ text: "Hello" }), stop), "Hello stop"],
      ["no beginning", sent(start, text("Hello"), stop), "Hello stop"],
      ["no end", sent(start, textBlock, text("Hello"), stop), "Hello stop"],
      [
        "thoughts of null",
        sent(
          start,
          begin({ type: "thinking", thinking: null, signature: null }),
          delta({ type: "thinking_delta", thinking: null }),
          begin({ type: "text" }, 1),
          text("Hello", 1),
          stop,
        ),
        "Hello stop",
      ],
      [
        "of another kind, with pieces",
        sent(
          start,
          begin({ type: "server_tool_use", id: "s", name: "w" }),
          args("{}"),
          end(),
          textBlock,
          text("Hello"),
          stop,
        ),
        "Hello stop",
      ],
      ["null", sent(start, begin(null), stop), "garbage: malformed content_block_start"],
    ]))

  describe("tool calls", () => {
    const two = 'a:f{"x":1} b:g{"y":2} tool_calls'
    const used = finish("tool_use")
    each("anthropic", [
      ["one index for all", sent(start, tool("a", "f"), args('{"x":1}'), tool("b", "g"), args('{"y":2}'), used), two],
      ["one index for all, no arguments", sent(start, tool("a", "f"), tool("b", "g"), used), "a:f{} b:g{} tool_calls"],
      [
        "no index",
        sent(
          start,
          begin({ type: "tool_use", id: "a", name: "f" }, null),
          delta({ partial_json: '{"x":1}' }, null),
          begin({ type: "tool_use", id: "b", name: "g" }, null),
          delta({ partial_json: '{"y":2}' }, null),
          used,
        ),
        two,
      ],
      [
        "the input at the beginning, no end",
        sent(start, tool("a", "f", 0, { x: 1 }), tool("b", "g", 1, { y: 2 }), used),
        two,
      ],
      ["the input as text", sent(start, tool("a", "f", 0, '{"x":1}'), tool("b", "g", 1, '{"y":2}'), used), two],
      ["input and pieces of null", sent(start, tool("a", "f", 0, null), args(null), end(), used), "a:f{} tool_calls"],
      ["no ids", sent(start, tool(null, "f"), tool("", "g", 1), used), "m_0:f{} m_1:g{} tool_calls"],
      ["one id for all", sent(start, tool("a", "f"), tool("a", "g", 1), used), "a:f{} m_1:g{} tool_calls"],
      ["no name", sent(start, tool("a", ""), used), "garbage: malformed content_block_start"],
      [
        "arguments of a call that did not begin",
        sent(start, args("{}"), used),
        "garbage: arguments of a tool call that did not begin",
      ],
      [
        "arguments of a call that has ended",
        sent(start, tool("a", "f"), end(), args("{}"), used),
        "garbage: arguments of a tool call that did not begin",
      ],
    ])
  })

  it.effect("a repeated first chunk states the role once", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("anthropic", () => events([sent(start, start, textBlock, hel, stop)]))
      const chunks = yield* Stream.runCollect(provider.stream(REQUEST))
      assert.lengthOf(
        chunks.filter(({ choices: [choice] }) => choice?.delta.role !== undefined),
        1,
      )
    }),
  )

  it.effect("thoughts whose block has no end come back with the call that follows them", () =>
    Effect.gen(function* () {
      const thinking = begin({ type: "thinking", thinking: "Hm" })
      const stream = sent(start, thinking, delta({ type: "signature_delta", signature: "s" }), stop)
      const { provider } = yield* canned("anthropic", () => events([stream]))
      const { choices } = accumulate(yield* Stream.runCollect(provider.stream(REQUEST)))
      assert.deepStrictEqual(choices[0]?.message["extra_content"], {
        anthropic: { thinking_blocks: [{ type: "thinking", thinking: "Hm", signature: "s" }] },
        sealgate: true,
      })
    }),
  )
})

describe("gemini", () => {
  const said = (parts: unknown, finishReason?: unknown) => ({
    candidates: [{ index: 0, content: { parts }, ...(finishReason === undefined ? {} : { finishReason }) }],
    responseId: "r",
  })
  const text = (text: unknown, finishReason?: unknown) => said([{ text }], finishReason)
  const usage = { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 } }
  const between = (...events: ReadonlyArray<unknown>) => sse(text("Hel"), ...events, text("lo", "STOP"))
  const called = (...calls: ReadonlyArray<object>) =>
    sse(
      said(
        calls.map((functionCall) => ({ functionCall })),
        "STOP",
      ),
    )
  const NONE = "garbage: not a response of the Gemini API"
  const MEDIA = "garbage: an answer with media, which chat cannot carry"

  describe("events without content", () =>
    each("gemini", [
      ["none of the members", between({ responseId: "r" }), "Hello stop"],
      ["candidates empty", between({ candidates: [] }), "Hello stop"],
      [
        "feedback that blocks nothing",
        between({ promptFeedback: null }, { promptFeedback: { blockReason: "BLOCK_REASON_UNSPECIFIED" } }),
        "Hello stop",
      ],
      ["only usage", between(usage), "Hello stop"],
      ["candidates of another shape", between({ candidates: 7 }), NONE],
    ]))

  describe("the end", () =>
    each("gemini", [
      ["a sentinel of another format", sse(text("Hello", "STOP"), "[DONE]"), "Hello stop"],
      ["a sentinel of another format in place of it", sse(text("Hello"), "[DONE]"), CLOSED],
      ["no reason", sse(text("Hello", null)), NO_END],
      ["an empty reason", between(text("", "")), "Hello stop"],
      ["a reason that is none", sse(text("Hello", "FINISH_REASON_UNSPECIFIED")), NO_END],
      ["a reason in every event", sse(text("Hel", "STOP"), text("lo", "STOP")), "Hello stop"],
      [
        "a reason and usage in every event",
        sse({ ...text("Hel", "STOP"), ...usage }, { ...text("lo", "STOP"), ...usage }),
        "Hello stop",
      ],
      ["usage behind it", sse(text("Hello", "STOP"), usage), "Hello stop"],
      [
        "usage of another shape",
        sse({ ...text("Hello", "STOP"), usageMetadata: { promptTokenCount: "x" } }),
        "Hello stop",
      ],
      ["an error behind it", sse(text("Hello", "STOP"), { error: { code: 500, message: "no" } }), "unavailable: no"],
      ["media with it", sse(said([{ inlineData: { data: "" } }], "STOP")), MEDIA],
      ["a file with it", sse(said([{ fileData: { fileUri: "x" } }], "STOP")), MEDIA],
      ["a part that cannot be read with it", sse(text("Hel"), text(7, "STOP")), NONE],
    ]))

  describe("members", () =>
    each("gemini", [
      [
        "nulls",
        sse({ candidates: [{ content: null }], modelVersion: null }, said(null), text(null), text("Hello", "STOP")),
        "Hello stop",
      ],
      [
        "nulls in a part",
        sse(said([{ text: "Hello", thought: null, functionCall: null, inlineData: null, fileData: null }], "STOP")),
        "Hello stop",
      ],
      ["a head of other types", sse({ ...text("Hello", "STOP"), responseId: 7, modelVersion: {} }), "Hello stop"],
      [
        "an empty part, an empty content",
        sse(said([{}]), text("Hello"), { candidates: [{ content: {}, finishReason: "STOP" }] }),
        "Hello stop",
      ],
    ]))

  describe("function calls", () =>
    each("gemini", [
      ["arguments as text", called({ id: "a", name: "f", args: '{"x":1}' }), 'a:f{"x":1} tool_calls'],
      ["no arguments", called({ id: "a", name: "f", args: null }, { id: "b", name: "g" }), "a:f{} b:g{} tool_calls"],
      [
        "no ids",
        called({ id: null, name: "f" }, { id: "", name: "f" }),
        "gemini-call-r-0-0:f{} gemini-call-r-0-1:f{} tool_calls",
      ],
      [
        "one id for all",
        called({ id: "a", name: "f" }, { id: "a", name: "f" }),
        "a:f{} gemini-call-r-0-1:f{} tool_calls",
      ],
      [
        "a text in the same part",
        sse(said([{ text: "Hello", functionCall: { id: "a", name: "f" } }], "STOP")),
        "Hello a:f{} tool_calls",
      ],
      [
        "a thought in the same part",
        sse(said([{ text: "Hm", thought: true, functionCall: { id: "a", name: "f" } }], "STOP")),
        "a:f{} tool_calls",
      ],
      ["no name", called({ id: "a", name: "" }), NONE],
    ]))
})

it.effect("a stream without a content type is recognized by its beginning, in pieces of any size", () =>
  Effect.gen(function* () {
    const chunk = sse({ choices: [{ delta: { content: "Hello" }, finish_reason: "stop" }] })
    for (const head of ["data:", "event:", "id:", "retry:"]) {
      const pieces = [...head, ` 1\n\n${chunk}`]
      const { provider } = yield* canned("openai", () => new Response(events(pieces).body))
      const read = yield* Effect.result(Stream.runCollect(provider.stream(REQUEST)))
      // A line that is data would be an event, and a number is none.
      const expected = head === "data:" ? "garbage: an event is not a JSON object" : "Hello stop"
      assert.strictEqual(Result.isFailure(read) ? failureOf(read.failure) : gistOf(accumulate(read.success)), expected)
    }
  }),
)

describe("whole answers", () => {
  const whole = Effect.fnUntraced(function* (vendor: Vendor, body: unknown) {
    const { provider } = yield* canned(vendor, () => json(body))
    const read = yield* Effect.result(provider.complete(REQUEST))
    return Result.isFailure(read)
      ? failureOf(read.failure)
      : read.success.choices
          .map((choice) => `${choice.index} ${gistOf({ ...read.success, choices: [choice] })}`)
          .join(" | ")
  })
  const message = (content: string, rest: object = {}) => ({ message: { content }, finish_reason: "stop", ...rest })
  const call = (id: unknown, name: string, args: unknown) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  })
  const calls = (...tool_calls: ReadonlyArray<unknown>) => ({
    id: "c",
    choices: [{ message: { tool_calls }, finish_reason: "tool_calls" }],
  })
  const blocks = (content: unknown, rest: object = {}) => ({
    id: "m",
    model: "c",
    content,
    stop_reason: "end_turn",
    ...rest,
  })
  const text = (text: unknown, finishReason?: string) => ({
    candidates: [{ content: { parts: [{ text }] }, finishReason }],
  })

  it.effect.each<readonly [Vendor, string, unknown, string]>([
    ["openai", "no indexes", { choices: [message("a"), message("b")] }, "0 a stop | 1 b stop"],
    [
      "openai",
      "one index for all",
      { choices: [message("a", { index: 0 }), message("b", { index: 0 })] },
      "0 a stop | 1 b stop",
    ],
    ["openai", "one of two indexes", { choices: [message("a"), message("b", { index: 0 })] }, "0 a stop | 1 b stop"],
    [
      "openai",
      "a finish reason that says there is none",
      { choices: [message("a", { finish_reason: "null" })] },
      "unfinished: a choice has no finish reason",
    ],
    [
      "openai",
      "an error in a choice",
      { choices: [message("a", { error: { code: 429, message: "no" } })] },
      "rate-limited: no",
    ],
    ["openai", "a head of other types", { id: 7, model: null, created: "x", choices: [message("a")] }, "0 a stop"],
    ["openai", "no message", { choices: [{ finish_reason: "stop" }] }, "garbage: not a chat completion"],
    ["openai", "no choices", { choices: [] }, "garbage: not a chat completion"],
    [
      "openai",
      "arguments as objects, ids missing and shared",
      calls(call("", "f", { x: 1 }), call("a", "g", null), call("a", "h", "{}")),
      '0 c_0_0:f{"x":1} a:g c_0_2:h{} tool_calls',
    ],
    ["openai", "a call without a name", calls(call("a", "", "{}")), "garbage: not a chat completion"],
    [
      "anthropic",
      "nulls",
      blocks(
        [
          { type: "text", text: null },
          { type: "text", text: "a" },
        ],
        { id: null, model: null },
      ),
      "0 a stop",
    ],
    [
      "anthropic",
      "usage and details of another shape",
      blocks([{ type: "text", text: "a" }], { usage: 7, stop_details: 7 }),
      "0 a stop",
    ],
    ["anthropic", "an empty stop reason", blocks([], { stop_reason: "" }), "unfinished: the answer has no stop reason"],
    ["anthropic", "no content", blocks(undefined), "garbage: not a message"],
    [
      "anthropic",
      "input as text, ids missing and shared",
      blocks(
        [
          { type: "tool_use", name: "f", input: '{"x":1}' },
          { type: "tool_use", id: "a", name: "g" },
          { type: "tool_use", id: "a", name: "h" },
        ],
        { stop_reason: "tool_use" },
      ),
      '0 m_0:f{"x":1} a:g{} m_2:h{} tool_calls',
    ],
    ["gemini", "a list of events", [text("Hel"), text("lo", "STOP")], "0 Hello stop"],
    [
      "gemini",
      "a list of events without an end",
      [text("Hel"), text("lo")],
      "unfinished: a candidate has no finish reason",
    ],
    [
      "gemini",
      "a list of events with an error in it",
      [text("Hel"), { error: { code: 429, message: "no" } }],
      "rate-limited: no",
    ],
    ["gemini", "an empty list", [], "garbage: an answer without candidates"],
    ["gemini", "a list of something else", [1], "garbage: not a response of the Gemini API"],
    [
      "gemini",
      "a reason that is none",
      text("a", "FINISH_REASON_UNSPECIFIED"),
      "unfinished: a candidate has no finish reason",
    ],
  ])("%s: %s", ([vendor, , body, expected]) =>
    Effect.map(whole(vendor, body), (found) => assert.strictEqual(found, expected)),
  )
})
