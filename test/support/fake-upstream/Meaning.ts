/** Requests as a model understands them, independent of the wire format. */
import type { Turn } from "./Asked.ts"

/** One statement, call or picture. Calls are numbered through the conversation. */
export type Said =
  | { readonly who: "user" | "assistant" | "system"; readonly text: string }
  | { readonly who: "user"; readonly image: string }
  | { readonly call: number; readonly name: string; readonly args: unknown }
  | {
      readonly resultOf: number
      readonly name: string
      readonly value: unknown
      readonly images: ReadonlyArray<string>
    }

/** A request as its reader understood it. */
export interface Meaning {
  readonly system: ReadonlyArray<string>
  /** The contents of each message. */
  readonly messages: ReadonlyArray<ReadonlyArray<Said>>
  readonly tools: ReadonlyArray<{ readonly name: string }>
  readonly model: string
  readonly stream: boolean
  /** JSON Schema that the answer has to follow, `"any"` for JSON without a schema. */
  readonly json?: unknown
  /** The number of answers asked for; 1 by default. */
  readonly choices?: number
  /** Whether the answer has to report usage; yes by default. */
  readonly usage?: boolean
}

/** The object in a result's text, or else the text itself. */
export const resultValue = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : text
  } catch {
    return text
  }
}

/** The turns of one message: each result is its own turn, and all texts are one. */
export const turnsOf = (said: ReadonlyArray<Said>): ReadonlyArray<Turn> => {
  const results = said.flatMap((one): ReadonlyArray<Turn> => {
    if (!("resultOf" in one)) return []
    return [{ role: "tool", text: typeof one.value === "string" ? one.value : JSON.stringify(one.value) }]
  })
  const spoken = said.filter((one) => !("resultOf" in one))
  const [first] = spoken
  if (first === undefined) return results
  const text = spoken.map((one) => ("text" in one ? one.text : "")).join("")
  return [...results, { role: "who" in first ? first.who : "assistant", text }]
}
