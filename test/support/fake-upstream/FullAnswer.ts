/** An answer with all details that a wire format needs to write it. */
import type { Asked } from "./Asked.ts"
import type { Answer, Finish, Spent } from "./Reply.ts"

export interface Call {
  readonly id: string
  readonly name: string
  /** JSON text in the pieces in which it is streamed. */
  readonly pieces: ReadonlyArray<string>
}

export interface Choice {
  /** The text in the pieces in which it is streamed, if the answer has one. */
  readonly text: ReadonlyArray<string> | null
  readonly thoughts?: string | undefined
  readonly calls: ReadonlyArray<Call>
  readonly finish: Finish
}

export interface FullAnswer {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
  readonly choices: readonly [Choice, ...ReadonlyArray<Choice>]
  readonly usage: Spent | null
}

/** The text "ok". */
export const OK: FullAnswer = {
  id: "c",
  created: 1,
  model: "m",
  choices: [{ text: ["ok"], calls: [], finish: "stop" }],
  usage: { input: 3, output: 1 },
}

/** Splits a text into words that keep the white space around them. */
const words = (text: string): ReadonlyArray<string> => text.match(/\s*\S+\s*/g) ?? (text === "" ? [] : [text])

const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length

const piecesOf = (args: NonNullable<Answer["toolCalls"]>[number]["arguments"]): ReadonlyArray<string> => {
  // Array.isArray does not narrow a union with a readonly array.
  if (Array.isArray(args)) return args as ReadonlyArray<string>
  return JSON.stringify(args).match(/.{1,8}/gsu) ?? []
}

let serial = 0
/** Ids are unique within the process, so that a test cannot confuse two calls. */
const nextId = (): string => (++serial).toString(36).padStart(8, "0")

/** Completes a scripted answer. Every choice that was asked for is the same. */
export const complete = (
  { finish, model, text = "", thoughts, toolCalls = [], usage }: Answer,
  asked: Asked,
): FullAnswer => {
  const pieces = typeof text === "string" ? words(text) : text
  const calls = toolCalls.map((call) => ({
    id: call.id ?? `call_${nextId()}`,
    name: call.name,
    pieces: piecesOf(call.arguments),
  }))
  const choice: Choice = {
    text: pieces.length === 0 && calls.length > 0 ? null : pieces,
    thoughts,
    calls,
    finish: finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
  }
  const spoken = [...pieces, ...calls.flatMap((call) => call.pieces)].join("")
  const heard = [asked.system, ...asked.turns.map((turn) => turn.text)].join(" ")
  return {
    id: nextId(),
    created: Math.floor(Date.now() / 1000),
    model: model ?? asked.model,
    choices: [choice, ...Array.from({ length: asked.choices - 1 }, () => choice)],
    usage: usage === undefined ? { input: countWords(heard), output: countWords(spoken) } : usage,
  }
}

/** The frames of several choices in turn, each choice's frames in their order. */
export const interleave = <Frame>(choices: ReadonlyArray<ReadonlyArray<Frame>>): ReadonlyArray<Frame> => {
  const longest = Math.max(...choices.map((frames) => frames.length))
  return Array.from({ length: longest }, (_, at) => choices.flatMap((frames) => frames.slice(at, at + 1))).flat()
}
