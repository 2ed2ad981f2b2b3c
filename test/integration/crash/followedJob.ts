/** Checks what a follower saw of a job whose gateways were killed. */
import type { Violation } from "./CallCounter.ts"

/** An event of a job's stream, as a worker of the crash test writes it. */
export type FollowedEvent = { readonly id: string } & (
  | { readonly _tag: "Begun"; readonly step: Begun }
  | { readonly _tag: "ToolCall"; readonly call: Begun }
  | { readonly _tag: "Delta"; readonly delta: { readonly name: string; readonly at: number; readonly text: string } }
  | { readonly _tag: "ToolResult"; readonly result: { readonly name: string; readonly output: string } }
  | { readonly _tag: "Step"; readonly step: FollowedStep }
  | { readonly _tag: "Ended"; readonly job: { readonly steps: ReadonlyArray<FollowedStep> } }
)

interface Begun {
  readonly name: string
  readonly started_at: string
}

interface FollowedStep {
  readonly name: string
  readonly kind: string
  readonly tool?: { readonly output: string }
}

interface Ended {
  readonly id: string
  readonly steps: ReadonlyArray<FollowedStep>
  /** The stored texts of its steps. */
  readonly texts: ReadonlyMap<string, string>
  /** How often the model was asked for the text of a step. */
  readonly askedFor: (step: string) => number
}

/** Returns each gap, repetition and difference from the ended job. */
export const wrongInTrail = (events: ReadonlyArray<FollowedEvent>, ended: Ended): ReadonlyArray<Violation> => {
  const wrong: Array<Violation> = []
  const violation = (step: string, what: string) => wrong.push({ job: ended.id, step, what: `follower: ${what}` })
  const texts = new Map<string, string>()
  const beginnings = new Map<string, number>()
  const begun = new Set<string>()
  const calls = new Set<string>()
  const results = new Map<string, string>()
  const steps: Array<string> = []

  const noteBegun = ({ name, started_at }: Begun) => {
    if (begun.has(`${name} ${started_at}`)) violation(name, "began twice at the same time")
    if (steps.includes(name)) violation(name, "began after its end")
    begun.add(`${name} ${started_at}`)
  }
  for (const [index, event] of events.entries()) {
    switch (event._tag) {
      case "Begun":
        noteBegun(event.step)
        break
      case "ToolCall":
        noteBegun(event.call)
        calls.add(event.call.name)
        break
      case "Delta": {
        const { at, name, text } = event.delta
        const before = at === 0 ? "" : (texts.get(name) ?? "")
        if (at === 0) beginnings.set(name, (beginnings.get(name) ?? 0) + 1)
        if (at !== before.length) violation(name, `a piece at ${at} follows ${before.length} characters`)
        if (steps.includes(name)) violation(name, "a piece follows its end")
        texts.set(name, `${before}${text}`)
        break
      }
      case "ToolResult": {
        const { name, output } = event.result
        if (!calls.has(name)) violation(name, "a result without a call")
        if (results.has(name)) violation(name, "two results")
        results.set(name, output)
        break
      }
      case "Step": {
        const { kind, name, tool } = event.step
        if (kind === "tool" && results.get(name) !== tool?.output) violation(name, "its result is not the stored one")
        steps.push(name)
        break
      }
      case "Ended":
        if (index !== events.length - 1) violation("all", "an event follows the end")
    }
  }
  const stored = ended.steps.map(({ name }) => name).join(" ")
  if (steps.join(" ") !== stored) violation("all", `saw the steps ${steps.join(" ")} instead of ${stored}`)
  for (const [name, text] of ended.texts) {
    if (texts.get(name) !== text) violation(name, `its text is ${texts.get(name)} instead of ${text}`)
    if ((beginnings.get(name) ?? 0) > ended.askedFor(name)) violation(name, "its text began again without a new call")
  }
  return wrong
}
