import type { Job } from "../../client/gateway/GatewayJobs.ts"
import { usd } from "../../domain/routing/dollars.ts"
import { isEnded } from "../../domain/jobs/job.ts"
import { verdictMeaning } from "../../domain/jobs/modes.ts"
import { printable, printableLine } from "../printable.ts"
import { bold, dim } from "../terminal.ts"

/** Returns answer, verdict and cost, or why there are none. Leaves the answer out if it is the text that was `shown`. */
export const report = ({ cost_micro_usd, problem, result, status, usage }: Job, shown = ""): string => {
  const cost = dim(`${usage.calls} model call${usage.calls === 1 ? "" : "s"}, ${usd(cost_micro_usd)}`)
  if (result != null) {
    const sureness = result.confidence === null ? "" : `, confidence in the answer ${result.confidence.toFixed(2)}`
    const alone = result.independent ? "" : ", not independent"
    const note = result.note === undefined ? "" : `\n${printableLine(result.note)}`
    const answer = result.answer === shown ? "" : `${printable(result.answer)}\n\n`
    return `${answer}${bold(`Verdict: ${result.verdict}`)}${sureness}${alone}\n${verdictMeaning(result).meaning}${note}\n${cost}`
  }
  const why = problem?.detail ?? problem?.title ?? (isEnded(status) ? "no result" : "no result yet")
  return `${bold(status)}: ${printableLine(why)}\n${cost}`
}

/** Returns the task as text; for a conversation, its last message. */
export const taskText = (task: Job["task"]): string => {
  if (typeof task === "string") return task
  const content = task.at(-1)?.content
  return typeof content === "string" ? content : "(a conversation)"
}
