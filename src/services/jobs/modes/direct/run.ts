/** The direct mode: one model answers. It may call the agent's tools first, in as many turns as the job allows. */
import { Effect } from "effect"
import type { Message } from "../../../../domain/chat/chat.ts"
import { DEFAULT_EFFORT } from "../../../../domain/jobs/modes/description.ts"
import { type DirectResult, direct as mode } from "../../../../domain/jobs/modes/direct.ts"
import { spanned } from "../../../spans.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import { type Asking, isEcho, type ModelAnswer } from "../engine/Asking.ts"
import { notesOf } from "../engine/Cascade.ts"
import type { MaxCalls } from "../engine/highestCost.ts"
import type { ToolUse } from "../engine/toolUse.ts"
import { formOf, isRepairable, outputIn, outputMisfit, repairing } from "./output.ts"

const hasTools = ({ ask_person, mcp_servers = [], tools = [] }: JobContext["agent"]): boolean =>
  ask_person !== undefined || mcp_servers.length > 0 || tools.length > 0

/** Maximum number of turns. Without tools, the first turn is the last. */
const turnsOf = ({ agent, options }: Pick<JobContext, "agent" | "options">): number =>
  hasTools(agent)
    ? Math.min(
        options.turns ?? mode.depth[options.effort ?? agent.default_effort ?? DEFAULT_EFFORT],
        agent.limits.max_turns ?? mode.option.maximum,
      )
    : 1

/** Maximum number of calls. */
export const maxCalls = (job: Pick<JobContext, "agent" | "options">): MaxCalls => ({
  perTier: { proposer: 0, critic: 0, judge: 0 },
  besides: { proposer: turnsOf(job), critic: 0, judge: 0 },
})

/** Calls of one turn that are carried out. */
const MAX_CALLS = 16
const TOO_MANY = `Not carried out: a turn may make at most ${MAX_CALLS} calls.`

export const run = (context: JobContext, asking: Asking, tools: ToolUse): Effect.Effect<DirectResult, JobFailure> =>
  Effect.gen(function* () {
    const most = turnsOf(context)
    const offered = yield* tools.offered
    const { output_schema } = context.options
    const form = output_schema === undefined ? undefined : formOf(output_schema)
    const said: Array<Message> = []
    let calls = 0
    for (let turn = 1; ; turn++) {
      const last = turn === most
      const answer = yield* asking.converse({ kind: "turn", turn }, { said, tools: offered, last, form })
      const wanted = last ? [] : (answer.toolCalls ?? [])
      if (wanted.length === 0) {
        const course = { turn, calls, ranOut: last && calls > 0 }
        if (output_schema === undefined) return resultOf(answer, course)
        const read = outputIn(output_schema, answer)
        if ("output" in read) return { ...resultOf(answer, course), output: read.output }
        if (!isRepairable(answer)) return yield* outputMisfit(read.mistakes)
        const again = yield* asking.converse(
          { kind: "turn", turn, repair: true },
          { said: [...said, ...repairOf(answer, read.mistakes)], tools: offered, last: true, form },
        )
        const repaired = outputIn(output_schema, again)
        if ("mistakes" in repaired) return yield* outputMisfit(repaired.mistakes)
        return { ...resultOf(again, { ...course, turn: turn + 1 }), output: repaired.output }
      }
      said.push({ role: "assistant", content: answer.text === "" ? null : answer.text, tool_calls: wanted })
      for (const [index, call] of wanted.entries()) {
        const isCarriedOut = index < MAX_CALLS
        const content = isCarriedOut ? yield* tools.call({ kind: "tool", turn, call: index + 1 }, call) : TOO_MANY
        said.push({ role: "tool", tool_call_id: call.id, content })
        calls += isCarriedOut ? 1 : 0
      }
    }
  }).pipe(spanned("modes.direct"))

/** Asks again for what does not fit. */
const repairOf = ({ text }: ModelAnswer, mistakes: Parameters<typeof repairing>[0]): ReadonlyArray<Message> => [
  { role: "assistant", content: text },
  { role: "user", content: repairing(mistakes) },
]

const resultOf = (
  answer: ModelAnswer,
  { calls, ranOut, turn }: { readonly turn: number; readonly calls: number; readonly ranOut: boolean },
): DirectResult => ({
  mode: "direct",
  answer: answer.text,
  verdict: "unchecked",
  confidence: null,
  independent: false,
  provider: answer.target.provider,
  model: answer.model,
  turns: turn,
  tool_calls: calls,
  ...notesOf({
    tier: 0,
    cut: answer.cut,
    echo: isEcho(answer),
    alone: false,
    more: ranOut ? "In its last turn the model could call no tool." : undefined,
  }),
})
