/** Says what a verdict compared. */
import type { JobResult } from "../../../domain/jobs/modes.ts"
import type { AdversarialResult } from "../../../domain/jobs/modes/adversarial.ts"
import type { DirectResult } from "../../../domain/jobs/modes/direct.ts"
import type { VerifiedResult } from "../../../domain/jobs/modes/verified.ts"
import { plural } from "../../shared/format.ts"

const ofDebate = ({ objections, participants, rounds }: AdversarialResult): string => {
  const open = objections.filter(({ status }) => status === "open").length
  const judge = participants.find(({ role }) => role === "judge")
  const raised =
    objections.length === 0
      ? "A critic raised no objection"
      : `A critic raised ${plural(objections.length, "objection")}, ${open === 0 ? "all resolved" : `${open} still open`}`
  const by = judge === undefined ? "; nobody judged the answer" : `; ${judge.model} judged the answer`
  return `${raised}, in ${plural(rounds.length, "round")}${by}.`
}

const ofAnswers = ({ answer, answers, checks }: VerifiedResult): string => {
  const given = answers.flatMap(({ said_by }) => said_by.filter(({ role }) => role === "proposer"))
  const same = (answers.find((candidate) => candidate.answer === answer)?.said_by ?? []).filter(
    ({ role }) => role === "proposer",
  )
  const models = new Set(given.map(({ model, provider }) => `${provider}/${model}`)).size
  const compared = `${plural(given.length, "answer")} of ${plural(models, "model")} compared; ${same.length} say this`
  if (checks.length === 0) return `${compared}.`
  const questions = plural(checks.length, "check question")
  const undecided = checks.filter(({ consistent }) => consistent === null).length
  if (undecided === checks.length) return `${compared}. ${questions}, all undecided.`
  const fitting = checks.filter(({ consistent }) => consistent === true).length
  return `${compared}. ${fitting} of ${questions} agree with it${undecided === 0 ? "" : `, ${undecided} undecided`}.`
}

const ofTurns = ({ model, tool_calls, turns }: DirectResult): string =>
  `${model} answered in ${plural(turns, "turn")} with ${plural(tool_calls, "tool call")}.`

/** Returns a sentence about the comparison behind the verdict. */
export const comparedFor = (result: JobResult): string => {
  switch (result.mode) {
    case "adversarial":
      return ofDebate(result)
    case "verified":
      return ofAnswers(result)
    case "direct":
      return ofTurns(result)
    case "own":
      return `The mode ${result.name} answered.`
  }
}
