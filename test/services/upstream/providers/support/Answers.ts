/** Generated answers, what callers must get of them, and how each vendor would send them. */
import { Schema } from "effect"
import type { ChatCompletion } from "../../../../../src/domain/chat/chat.ts"
import { anthropic } from "../../../../support/fake-upstream/Anthropic.ts"
import type { Choice as FullChoice, FullAnswer } from "../../../../support/fake-upstream/FullAnswer.ts"
import { gemini } from "../../../../support/fake-upstream/Gemini.ts"
import { openAi } from "../../../../support/fake-upstream/OpenAi.ts"
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

/** A text or bytes in pieces whose lengths follow `cuts`, again and again. */
const cut = <Whole extends { readonly length: number; slice(from: number, to: number): Whole }>(
  whole: Whole,
  cuts: Cuts,
): ReadonlyArray<Whole> => {
  const pieces: Array<Whole> = []
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const length = cuts[turn % cuts.length] ?? 1
    pieces.push(whole.slice(at, at + length))
    at += length
  }
  return pieces
}

/** The bytes of `whole` in pieces, characters cut in two included. */
export const cutBytes = (whole: string, cuts: Cuts): ReadonlyArray<Uint8Array> =>
  cut(new TextEncoder().encode(whole), cuts)

const MODEL = "the-model-that-answered"
const ID = "the-id"

const choicesFor = (vendor: Vendor, answer: Answer): ReadonlyArray<typeof Choice.Type> =>
  vendor === "anthropic" ? answer.choices.slice(0, 1) : answer.choices

const callId = (choice: number, call: number): string => `call_${choice}_${call}`

const finishOf = (choice: typeof Choice.Type): "length" | "tool_calls" | "stop" =>
  choice.limited ? "length" : choice.calls.length > 0 ? "tool_calls" : "stop"

/** The parts of a decoded answer that callers rely on. */
interface Gist {
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

const FORMATS = { openai: openAi, anthropic, gemini } as const

const fullOf = (vendor: Vendor, answer: Answer, cuts: Cuts): FullAnswer => {
  const [first, ...others] = choicesFor(vendor, answer).map((choice, index): FullChoice => ({
    text: choice.text === null ? null : cut(choice.text, cuts),
    calls: choice.calls.map(({ args, name }, call) => ({
      id: callId(index, call),
      name,
      pieces: cut(JSON.stringify(args), cuts),
    })),
    finish: finishOf(choice),
  }))
  if (first === undefined) throw new Error("an answer has a choice")
  const written = vendor === "anthropic" ? answer.written : 0
  return {
    id: ID,
    created: 1_700_000_000,
    model: MODEL,
    choices: [first, ...others],
    usage: {
      input: answer.fresh + answer.cached + written,
      cached: answer.cached,
      cacheWritten: written,
      output: answer.output + answer.reasoning,
      reasoning: answer.reasoning,
    },
  }
}

/** The body of a whole answer. */
export const wholeOf = (vendor: Vendor, answer: Answer): unknown => FORMATS[vendor].whole(fullOf(vendor, answer, [40]))

/** The events of a streamed answer. */
export const eventsOf = (vendor: Vendor, answer: Answer, cuts: Cuts): ReadonlyArray<string> =>
  FORMATS[vendor].frames(fullOf(vendor, answer, cuts), true).map(({ text }) => text)
