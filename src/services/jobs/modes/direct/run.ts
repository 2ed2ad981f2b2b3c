/** The direct mode: one model answers. It may call the agent's tools first, in as many turns as the job allows. */
import { Effect } from "effect"
import { type DirectResult, direct as mode } from "../../../../domain/jobs/modes/direct.ts"
import { spanned } from "../../../spans.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import type { Asking } from "../engine/Asking.ts"
import { notesOf } from "../engine/Cascade.ts"
import { effortOf } from "../engine/effortOf.ts"
import type { MaxCalls } from "../engine/highestCost.ts"
import { isEcho, type ModelAnswer } from "../engine/ModelAnswer.ts"
import type { Toolbox } from "../engine/toolUse.ts"
import { formOf, isRepairable, outputIn, outputMisfit, repairing } from "./output.ts"

const hasTools = ({ ask_person, mcp_servers = [], tools = [] }: JobContext["agent"]): boolean =>
  ask_person !== undefined || mcp_servers.length > 0 || tools.length > 0

/** Maximum number of turns. Without tools, the first turn is the last. */
const turnsOf = ({ agent, options }: Pick<JobContext, "agent" | "options">): number =>
  hasTools(agent)
    ? Math.min(options.turns ?? mode.depth[effortOf({ agent, options })], agent.limits.max_turns ?? mode.option.maximum)
    : 1

/** Maximum number of calls. After its turns, an output may be asked for once more. */
export const maxCalls = (job: Pick<JobContext, "agent" | "options">): MaxCalls => ({
  perTier: { proposer: 0, critic: 0, judge: 0 },
  besides: { proposer: turnsOf(job) + (job.options.output_schema === undefined ? 0 : 1), critic: 0, judge: 0 },
})

export const run = (context: JobContext, asking: Asking, tools: Toolbox): Effect.Effect<DirectResult, JobFailure> =>
  Effect.gen(function* () {
    const kit = { tools: yield* tools.offered, turns: turnsOf(context), call: tools.call }
    const { output_schema } = context.options
    const form = output_schema === undefined ? undefined : formOf(output_schema)
    const about = form === undefined ? undefined : { instruction: form.instruction, sections: [] }
    const answer = yield* asking.propose({ kind: "turn" }, { kit, about, format: form?.format })
    const { again, calls, turns } = answer.course
    const course = { turns, calls, ranOut: turns === kit.turns && calls > 0 }
    if (output_schema === undefined) return resultOf(answer, course)
    const read = outputIn(output_schema, answer)
    if ("output" in read) return { ...resultOf(answer, course), output: read.output }
    if (!isRepairable(answer)) return yield* outputMisfit(read.mistakes)
    const repaired = yield* again(repairing(read.mistakes))
    const second = outputIn(output_schema, repaired)
    if ("mistakes" in second) return yield* outputMisfit(second.mistakes)
    return { ...resultOf(repaired, { ...course, turns: turns + 1 }), output: second.output }
  }).pipe(spanned("modes.direct"))

const resultOf = (
  answer: ModelAnswer,
  { calls, ranOut, turns }: { readonly turns: number; readonly calls: number; readonly ranOut: boolean },
): DirectResult => ({
  mode: "direct",
  answer: answer.text,
  verdict: "unchecked",
  confidence: null,
  independent: false,
  provider: answer.target.provider,
  model: answer.model,
  turns,
  tool_calls: calls,
  ...notesOf({
    tier: 0,
    cut: answer.cut,
    echo: isEcho(answer),
    alone: false,
    more: ranOut ? "In its last turn the model could call no tool." : undefined,
  }),
})
