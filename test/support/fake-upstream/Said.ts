/** An answer with all details that a wire format needs to write it. */
import type { Asked } from "./Asked.ts"
import type { Answer, Finish, Spent } from "./Reply.ts"

export interface SaidCall {
  readonly id: string
  readonly name: string
  /** JSON text in the pieces in which it is streamed. */
  readonly pieces: ReadonlyArray<string>
  readonly signature: string | undefined
}

export interface Said {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
  readonly chunks: ReadonlyArray<string>
  readonly thinking: string | undefined
  readonly refusal: string | undefined
  readonly calls: ReadonlyArray<SaidCall>
  readonly finish: Finish
  /** The stop sequence that ended the text. */
  readonly stoppedAt: string | undefined
  readonly usage: Spent | null
  readonly asked: Asked
}

/** Splits a text into words that keep the white space behind them. */
const words = (text: string): ReadonlyArray<string> => text.match(/\s*\S+\s*/g) ?? (text === "" ? [] : [text])

const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length

/** Cuts the chunks where the first stop sequence begins, as a vendor would, and returns that sequence. */
const stopAt = (chunks: ReadonlyArray<string>, stop: ReadonlyArray<string>) => {
  const text = chunks.join("")
  const hits = stop.flatMap((sequence) => {
    const index = text.indexOf(sequence)
    return index === -1 ? [] : [{ index, sequence }]
  })
  const first = hits.sort((a, b) => a.index - b.index)[0]
  if (first === undefined) return { chunks, stoppedAt: undefined }
  let left = first.index
  const kept: Array<string> = []
  for (const chunk of chunks) {
    if (left > 0) kept.push(chunk.slice(0, left))
    left -= chunk.length
  }
  return { chunks: kept, stoppedAt: first.sequence }
}

const piecesOf = (args: NonNullable<Answer["toolCalls"]>[number]["arguments"]): ReadonlyArray<string> => {
  // Array.isArray does not narrow a union with a readonly array.
  if (Array.isArray(args)) return args as ReadonlyArray<string>
  return JSON.stringify(args).match(/.{1,8}/gsu) ?? []
}

let serial = 0
/** Ids are unique within the process, so that a test cannot confuse two calls. */
const nextId = (): string => (++serial).toString(36).padStart(8, "0")

export const say = (answer: Answer, asked: Asked): Said => {
  const written = typeof answer.text === "string" ? words(answer.text) : (answer.text ?? [])
  const { chunks, stoppedAt } = stopAt(written, asked.stop)
  const calls = (answer.toolCalls ?? []).map((call): SaidCall => ({
    id: call.id ?? `call_${nextId()}`,
    name: call.name,
    pieces: piecesOf(call.arguments),
    signature: call.signature,
  }))
  const spoken = [...chunks, answer.refusal ?? "", ...calls.flatMap((call) => call.pieces)].join("")
  const heard = [asked.system, ...asked.turns.map((turn) => turn.text)].join(" ")
  return {
    id: nextId(),
    created: Math.floor(Date.now() / 1000),
    model: answer.model ?? asked.model,
    chunks,
    thinking: answer.thinking,
    refusal: answer.refusal,
    calls,
    finish: stoppedAt === undefined ? (answer.finish ?? (calls.length > 0 ? "tool_calls" : "stop")) : "stop",
    stoppedAt,
    usage: answer.usage === undefined ? { input: countWords(heard), output: countWords(spoken) } : answer.usage,
    asked,
  }
}
