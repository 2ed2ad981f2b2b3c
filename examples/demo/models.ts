/**
 * Two models that disagree, played by a script on this machine: alpha counts carelessly, beta counts letter by letter.
 * What a call is for shows in the JSON Schema that its answer has to follow.
 */
import type { Asked, Reply } from "../../test/support/FakeUpstream.ts"

const WRONG = 'There are 2 letters "r" in "strawberry".'
const RIGHT = 'There are 3 letters "r" in "strawberry": st-r-awbe-r-r-y.'

const members = (schema: unknown): ReadonlyArray<string> =>
  typeof schema === "object" && schema !== null && "properties" in schema ? Object.keys(schema.properties ?? {}) : []

/** A JSON answer for the schema that was asked for, or undefined for plain text. */
const structured = ({ json, text }: Asked): object | undefined => {
  const asked = members(json)
  const sound = text.includes("There are 3")
  if (asked.includes("action")) return { action: "revise", answer: RIGHT, rebuttal: "" }
  if (asked.includes("objections")) {
    const claim = 'Letter by letter, "strawberry" has an r at positions 3, 8 and 9: three, not two.'
    return sound ? { resolved: [1], objections: [] } : { resolved: [], objections: [{ claim, severity: "critical" }] }
  }
  if (asked.includes("verdict")) return { verdict: sound ? "sound" : "flawed", resolved: [], confidence: 0.95 }
  if (asked.includes("questions")) return { questions: ['At which positions of "strawberry" is the letter r?'] }
  if (asked.includes("checks")) {
    return { checks: [{ question: 1, consistent: false, note: "Three positions were named, the draft counts two." }] }
  }
  if (asked.includes("samples")) return { samples: [{ sample: 1, agrees: false }] }
  return undefined
}

let drafts = 0

export const alpha = (asked: Asked): Reply => {
  const answer = structured(asked)
  if (answer !== undefined) return { text: JSON.stringify(answer) }
  if (asked.text.includes("<findings>")) return { text: RIGHT }
  // Every third draft is right by luck: this is what independent samples are for.
  return { text: ++drafts % 3 === 0 ? RIGHT : WRONG }
}

export const beta = (asked: Asked): Reply => {
  const answer = structured(asked)
  return { text: answer === undefined ? "The letter r is at positions 3, 8 and 9." : JSON.stringify(answer) }
}
