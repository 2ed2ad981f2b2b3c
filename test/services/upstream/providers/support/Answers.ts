/** Generated answers, what callers must get of them, and how each vendor would send them. */
import { Schema } from "effect"
import type { ChatCompletion } from "../../../../../src/domain/chat/chat.ts"
import { asJson, MemberName } from "./Json.ts"
import type { Vendor } from "./Canned.ts"

const Json = Schema.Record(MemberName, Schema.Union([Schema.String, Schema.Int, Schema.Boolean, Schema.Null]))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

const Choice = Schema.Struct({
  text: Schema.NullOr(Schema.NonEmptyString),
  calls: Schema.Array(Schema.Struct({ name: Schema.Literals(["get_weather", "f"]), args: Json })).check(
    Schema.isMaxLength(3),
  ),
  limited: Schema.Boolean,
})

export const Answer = Schema.Struct({
  /** Only the first is used where a vendor has but one. */
  choices: Schema.NonEmptyArray(Choice).check(Schema.isMaxLength(3)),
  fresh: Count,
  cached: Count,
  written: Count,
  output: Count,
  reasoning: Count,
})
export type Answer = typeof Answer.Type

/** The places where the text of an answer, and the bytes of its stream, are cut. */
export const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(8),
)
export type Cuts = typeof Cuts.Type

/** `whole` in pieces whose lengths follow `cuts`, again and again. */
export const cut = (whole: string, cuts: Cuts): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const length = cuts[turn % cuts.length] ?? 1
    pieces.push(whole.slice(at, at + length))
    at += length
  }
  return pieces
}

/** The bytes of `whole` in pieces, characters cut in two included. */
export const cutBytes = (whole: string, cuts: Cuts): ReadonlyArray<Uint8Array> => {
  const bytes = new TextEncoder().encode(whole)
  const pieces: Array<Uint8Array> = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = cuts[turn % cuts.length] ?? 1
    pieces.push(bytes.slice(at, at + length))
    at += length
  }
  return pieces
}

const MODEL = "the-model-that-answered"
const ID = "the-id"

const choicesFor = (vendor: Vendor, answer: Answer): ReadonlyArray<typeof Choice.Type> =>
  vendor === "anthropic" ? answer.choices.slice(0, 1) : answer.choices

const callId = (choice: number, call: number): string => `call_${choice}_${call}`

const finishOf = (choice: typeof Choice.Type): "length" | "tool_calls" | "stop" =>
  choice.limited ? "length" : choice.calls.length > 0 ? "tool_calls" : "stop"

/** The parts of a decoded answer that callers rely on. */
export interface Gist {
  readonly id: string
  readonly model: string
  readonly choices: ReadonlyArray<{
    readonly index: number
    readonly content: string | null
    readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly args: unknown }>
    readonly finish: string
  }>
  readonly prompt: number
  readonly cached: number
  readonly completion: number
  readonly reasoning: number
  readonly total: number
}

/** The expected result of every vendor's rendering of `answer`. */
export const expected = (vendor: Vendor, answer: Answer): Gist => {
  const prompt = answer.fresh + answer.cached + (vendor === "anthropic" ? answer.written : 0)
  const completion = answer.output + answer.reasoning
  return {
    id: ID,
    model: MODEL,
    choices: choicesFor(vendor, answer).map((choice, index) => ({
      index,
      content: choice.text,
      calls: choice.calls.map(({ name, args }, call) => ({ id: callId(index, call), name, args: asJson(args) })),
      finish: finishOf(choice),
    })),
    prompt,
    cached: answer.cached,
    completion,
    reasoning: answer.reasoning,
    total: prompt + completion,
  }
}

export const gist = ({ choices, id, model, usage }: ChatCompletion): Gist => ({
  id,
  model,
  choices: choices.map(({ finish_reason, index, message }) => ({
    index,
    content: typeof message.content === "string" ? message.content : null,
    calls: (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      args: JSON.parse(call.function.arguments),
    })),
    finish: finish_reason,
  })),
  prompt: usage?.prompt_tokens ?? -1,
  cached: usage?.prompt_tokens_details?.cached_tokens ?? -1,
  completion: usage?.completion_tokens ?? -1,
  reasoning: usage?.completion_tokens_details?.reasoning_tokens ?? -1,
  total: usage?.total_tokens ?? -1,
})

/** One event of a stream; `name` is written as its type. */
export interface WireEvent {
  readonly name?: string
  readonly data: unknown
}

/** The text of an event stream, with the line ends of `vendor`. */
export const eventStream = (vendor: Vendor, events: ReadonlyArray<WireEvent>): string => {
  const end = vendor === "gemini" ? "\r\n" : "\n"
  return events
    .map(({ name, data }) => {
      const text = typeof data === "string" ? data : JSON.stringify(data)
      return `${name === undefined ? "" : `event: ${name}${end}`}data: ${text}${end}${end}`
    })
    .join("")
}

interface Rendering {
  readonly complete: (answer: Answer) => unknown
  readonly stream: (answer: Answer, cuts: Cuts) => ReadonlyArray<WireEvent>
}

const openaiUsage = (answer: Answer) => ({
  prompt_tokens: answer.fresh + answer.cached,
  completion_tokens: answer.output + answer.reasoning,
  total_tokens: answer.fresh + answer.cached + answer.output + answer.reasoning,
  prompt_tokens_details: { cached_tokens: answer.cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: answer.reasoning },
})

const openai: Rendering = {
  complete: (answer) => ({
    id: ID,
    object: "chat.completion",
    created: 1_700_000_000,
    model: MODEL,
    choices: answer.choices.map((choice, index) => ({
      index,
      message: {
        role: "assistant",
        content: choice.text,
        refusal: null,
        ...(choice.calls.length > 0
          ? {
              tool_calls: choice.calls.map(({ name, args }, call) => ({
                id: callId(index, call),
                type: "function",
                function: { name, arguments: JSON.stringify(args) },
              })),
            }
          : {}),
      },
      finish_reason: finishOf(choice),
    })),
    usage: openaiUsage(answer),
  }),
  stream: (answer, cuts) => {
    const chunk = (choices: ReadonlyArray<unknown>, usage: unknown = null): WireEvent => ({
      data: { id: ID, object: "chat.completion.chunk", created: 1_700_000_000, model: MODEL, choices, usage },
    })
    const delta = (index: number, members: object, finish_reason: string | null = null): WireEvent =>
      chunk([{ index, delta: members, finish_reason }])
    const perChoice = answer.choices.map((choice, index) => [
      delta(index, { role: "assistant", content: choice.text === null ? null : "" }),
      ...cut(choice.text ?? "", cuts).map((content) => delta(index, { content })),
      ...choice.calls.flatMap(({ name, args }, call) => [
        delta(index, {
          tool_calls: [{ index: call, id: callId(index, call), type: "function", function: { name, arguments: "" } }],
        }),
        ...cut(JSON.stringify(args), cuts).map((piece) =>
          delta(index, { tool_calls: [{ index: call, function: { arguments: piece } }] }),
        ),
      ]),
      delta(index, {}, finishOf(choice)),
    ])
    return [...interleave(perChoice), chunk([], openaiUsage(answer)), { data: "[DONE]" }]
  },
}

const anthropicUsage = (answer: Answer) => ({
  input_tokens: answer.fresh,
  cache_creation_input_tokens: answer.written,
  cache_read_input_tokens: answer.cached,
  output_tokens: answer.output + answer.reasoning,
  output_tokens_details: { thinking_tokens: answer.reasoning },
})

const anthropicStop = (answer: Answer): string => {
  const finish = finishOf(answer.choices[0])
  return finish === "length" ? "max_tokens" : finish === "tool_calls" ? "tool_use" : "end_turn"
}

const anthropic: Rendering = {
  complete: (answer) => ({
    id: ID,
    type: "message",
    role: "assistant",
    model: MODEL,
    content: [
      ...(answer.choices[0].text === null ? [] : [{ type: "text", text: answer.choices[0].text, citations: null }]),
      ...answer.choices[0].calls.map(({ name, args }, call) => ({
        type: "tool_use",
        id: callId(0, call),
        name,
        input: args,
        caller: { type: "direct" },
      })),
    ],
    stop_reason: anthropicStop(answer),
    stop_sequence: null,
    stop_details: null,
    usage: anthropicUsage(answer),
  }),
  stream: (answer, cuts) => {
    const { calls, text } = answer.choices[0]
    const event = (type: string, members: object): WireEvent => ({ name: type, data: { type, ...members } })
    const block = (index: number, content_block: object, deltas: ReadonlyArray<object>): ReadonlyArray<WireEvent> => [
      event("content_block_start", { index, content_block }),
      event("ping", {}),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index }),
    ]
    const offset = text === null ? 0 : 1
    return [
      event("message_start", {
        message: {
          id: ID,
          type: "message",
          role: "assistant",
          model: MODEL,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...anthropicUsage(answer), output_tokens: 1 },
        },
      }),
      ...(text === null
        ? []
        : block(
            0,
            { type: "text", text: "" },
            cut(text, cuts).map((piece) => ({ type: "text_delta", text: piece })),
          )),
      ...calls.flatMap(({ name, args }, call) =>
        block(
          offset + call,
          { type: "tool_use", id: callId(0, call), name, input: {} },
          Object.keys(args).length === 0
            ? [{ type: "input_json_delta", partial_json: "" }]
            : cut(JSON.stringify(args), cuts).map((piece) => ({ type: "input_json_delta", partial_json: piece })),
        ),
      ),
      event("message_delta", {
        delta: { stop_reason: anthropicStop(answer), stop_sequence: null },
        usage: anthropicUsage(answer),
      }),
      event("message_stop", {}),
    ]
  },
}

const geminiUsage = (answer: Answer) => ({
  promptTokenCount: answer.fresh + answer.cached,
  cachedContentTokenCount: answer.cached,
  candidatesTokenCount: answer.output,
  thoughtsTokenCount: answer.reasoning,
  totalTokenCount: answer.fresh + answer.cached + answer.output + answer.reasoning,
})

const geminiCall =
  (choice: number) =>
  ({ name, args }: (typeof Choice.Type)["calls"][number], call: number) => ({
    functionCall: { id: callId(choice, call), name, args },
  })

const gemini: Rendering = {
  complete: (answer) => ({
    candidates: answer.choices.map((choice, index) => ({
      content: {
        role: "model",
        parts: [...(choice.text === null ? [] : [{ text: choice.text }]), ...choice.calls.map(geminiCall(index))],
      },
      finishReason: choice.limited ? "MAX_TOKENS" : "STOP",
      index,
    })),
    usageMetadata: geminiUsage(answer),
    modelVersion: MODEL,
    responseId: ID,
  }),
  stream: (answer, cuts) => {
    const response = (candidate: object): WireEvent => ({
      data: {
        candidates: [candidate],
        usageMetadata: { ...geminiUsage(answer), candidatesTokenCount: 0 },
        modelVersion: MODEL,
        responseId: ID,
      },
    })
    const perChoice = answer.choices.map((choice, index) => [
      ...cut(choice.text ?? "", cuts).map((text) => response({ content: { role: "model", parts: [{ text }] }, index })),
      ...choice.calls
        .map(geminiCall(index))
        .map((part) => response({ content: { role: "model", parts: [part] }, index })),
      response({
        content: { role: "model", parts: [{ text: "" }] },
        finishReason: choice.limited ? "MAX_TOKENS" : "STOP",
        index,
      }),
    ])
    const events = interleave(perChoice)
    return events.map((event, at) =>
      at < events.length - 1 || typeof event.data !== "object"
        ? event
        : { data: { ...event.data, usageMetadata: geminiUsage(answer) } },
    )
  },
}

export const RENDERINGS: Readonly<Record<Vendor, Rendering>> = { openai, anthropic, gemini }

/** The events of several choices in turn, each choice's own in their order. */
const interleave = (lists: ReadonlyArray<ReadonlyArray<WireEvent>>): ReadonlyArray<WireEvent> => {
  const longest = Math.max(...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat()
}
