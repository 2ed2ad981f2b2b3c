/**
 * Lets models with only recorded answers examine others: each sticks to its own answer, so an examiner that has not answered
 * yet is worth one more vote. Only a live run can show whether real examiners are worth more.
 */
import type { Call, Play } from "./harness.ts"
import { isRight, type Question } from "./World.ts"

/** Returns the number and the first two lines of the sections of the quoted document whose titles match. */
export const sections = ({ messages }: Call, title: RegExp): ReadonlyArray<readonly [number, string, string]> =>
  messages.flatMap(({ content }) =>
    typeof content !== "string"
      ? []
      : content.split("\n").flatMap((line, i, lines) => {
          const found = line.startsWith("## ") ? title.exec(line) : null
          return found === null ? [] : [[Number(found[1] ?? 0), lines[i + 1] ?? "", lines[i + 2] ?? ""] as const]
        }),
  )

export const playing = (question: Question): Play => {
  const times = new Map<string, number>()
  const own = (call: Call): string => question.said(call.target.model, 0)
  const agrees = (call: Call, answer: string) => isRight(answer, { right: own(call) })
  return (call) => {
    const { model } = call.target
    switch (call.kind) {
      case undefined: {
        if (call.role !== "proposer") return own(call)
        const nth = times.get(model) ?? 0
        times.set(model, nth + 1)
        // Stands for no answer; an empty one would end the job.
        return question.said(model, nth) || ":"
      }
      case "compare":
        return JSON.stringify({ same_as: null })
      case "questions":
        return JSON.stringify({ questions: [question.task] })
      case "reconcile": {
        const right = sections(call, / answer (\d+)$/).find(([, answer]) => agrees(call, answer))?.[0] ?? null
        return JSON.stringify({ checks: [], right })
      }
      case "critique": {
        const [, answer = ""] = sections(call, / answer$/)[0] ?? []
        const objection = { claim: `The answer is ${own(call)}.`, evidence: "", severity: "critical" }
        const raised = sections(call, / earlier objections$/)[0]?.[1] ?? ""
        return JSON.stringify({
          resolved: [],
          objections: agrees(call, answer) || raised.includes("raised in round") ? [] : [objection],
        })
      }
      case "respond": {
        const replies = [{ objection: 1, action: "rebut", text: "It is what I answered." }]
        return JSON.stringify({ replies, answer: own(call) })
      }
      case "judge": {
        const [, answer = ""] = sections(call, / answer$/)[0] ?? []
        const confidence = question.measured.models[model]?.accuracy ?? question.measured.others.accuracy
        const verdict = agrees(call, answer) ? "sound" : "flawed"
        return JSON.stringify({ verdict, resolved: verdict === "sound" ? [1] : [], confidence })
      }
      default:
        throw new Error(`Nobody knows how to answer ${call.kind}.`)
    }
  }
}
