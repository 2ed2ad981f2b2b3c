/**
 * Three scripted models: alpha counts carelessly, beta and gamma count letter by letter. The requested JSON Schema shows the
 * purpose of a call.
 */
import type { Asked, Reply } from "../../test/support/FakeUpstream.ts"

const WRONG = 'There are 2 letters "r" in "strawberry".'
const RIGHT = 'There are 3 letters "r" in "strawberry": st-r-awbe-r-r-y.'

const members = (schema: unknown): ReadonlyArray<string> =>
  typeof schema === "object" && schema !== null && "properties" in schema ? Object.keys(schema.properties ?? {}) : []

/** Returns a JSON answer for the requested schema, or undefined for plain text. */
const structured = ({ json, text }: Asked): object | undefined => {
  const asked = members(json)
  const sound = text.includes("There are 3")
  if (asked.includes("replies")) {
    return { replies: [{ objection: 1, action: "revise", text: "Counted again." }], answer: RIGHT }
  }
  if (asked.includes("objections")) {
    const claim = 'Letter by letter, "strawberry" has an r at positions 3, 8 and 9: three, not two.'
    return sound
      ? { resolved: [1], objections: [] }
      : { resolved: [], objections: [{ claim, evidence: "st-r-awbe-r-r-y", severity: "critical" }] }
  }
  if (asked.includes("verdict")) return { verdict: sound ? "sound" : "flawed", resolved: [], confidence: 0.95 }
  if (asked.includes("questions")) return { questions: ['At which positions of "strawberry" is the letter r?'] }
  if (asked.includes("checks")) {
    return { checks: [{ question: 1, fits: [2], note: "Three positions were named, the draft counts two." }], right: 2 }
  }
  if (asked.includes("same_as")) return { same_as: null }
  return undefined
}

const POSITIONS = "The letter r is at positions 3, 8 and 9."

/** Calls the calculator with the numbers of a question; then answers with its output, which stands between two fences. */
const calculating = ({ text }: Asked): Reply => {
  const output = /^BEGIN \w+\n(.*)\nEND /m.exec(text)?.[1]
  if (output !== undefined) return { text: `It is ${Number(output).toLocaleString("en")}.` }
  const [a, b] = (text.match(/[\d,]+/g) ?? []).map((number) => Number(number.replaceAll(",", "")))
  return { toolCalls: [{ name: "calc__multiply", arguments: { a, b } }] }
}

const playing =
  (answer: string) =>
  (asked: Asked): Reply => {
    if (asked.tools.length > 0) return calculating(asked)
    const value = structured(asked)
    if (value !== undefined) return { text: JSON.stringify(value) }
    return { text: asked.text.includes("At which positions") ? POSITIONS : answer }
  }

export const alpha = playing(WRONG)
export const beta = playing(RIGHT)
export const gamma = playing(RIGHT)
