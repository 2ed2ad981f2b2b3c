/** Failures of a mode as problems for the job's owner. */
import { Redacted } from "effect"
import type { AgentLimits } from "../../../../domain/jobs/agent.ts"
import type { Message } from "../../../../domain/chat/chat.ts"
import type { StepCall } from "../../../../domain/jobs/job.ts"
import { failureCodes } from "../../../../domain/upstream/failures.ts"
import { makeProblem } from "../../../../domain/problems/problem.ts"
import type { UpstreamError } from "../../../../domain/upstream/upstream.ts"
import type { Allowance } from "../../../routing/Spending.ts"
import type { Spent } from "../../../routing/Ledger.ts"
import type { RouterError } from "../../../routing/RoutingErrors.ts"
import { JobFailure } from "../../JobProgram.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"

const upstreamProblem = ({ code, detail, retryable }: UpstreamError) => {
  const { aboutRequest, lasting, status, title } = failureCodes[code]
  return makeProblem({
    code,
    status,
    title,
    ...(detail !== undefined && aboutRequest ? { detail: Redacted.value(detail) } : {}),
    retryable: retryable && !lasting,
  })
}

export const routingFailure = (error: RouterError): JobFailure => {
  if (error._tag === "CallFailed") {
    const { retryAfterMs } = error.error
    return new JobFailure({
      problem: upstreamProblem(error.error),
      ...withoutUndefined({ retryAfterMs, call: error.call }),
    })
  }
  const { code, message, retryable, status } = error
  const renewsAt = error._tag === "BudgetExhausted" ? error.renewsAt : undefined
  return new JobFailure({
    problem: makeProblem({ code, status, title: message, retryable }),
    ...withoutUndefined({ renewsAt }),
  })
}

export const refusal = (text: string, call: StepCall): JobFailure =>
  new JobFailure({
    problem: makeProblem({
      code: "content-filtered",
      status: 422,
      title: "The model refused the task.",
      ...(text === "" ? {} : { detail: text }),
      retryable: false,
    }),
    call,
  })

export const emptyAnswer = (call: StepCall): JobFailure =>
  new JobFailure({
    problem: makeProblem({ code: "upstream-protocol", status: 502, title: "The model gave no answer." }),
    call,
  })

const TURNS_OF_JOB = "`options.turns` or the agent's `limits.max_turns`"

/** In its last turn, the model called tools again. Another attempt with the same conversation would end the same way. */
export const turnsUsedUp = (call: StepCall): JobFailure =>
  new JobFailure({
    problem: makeProblem({
      code: "turn-limit-reached",
      status: 422,
      title: "The model called tools in its last turn instead of answering.",
      detail: `Allow more turns (${TURNS_OF_JOB}, or a higher effort), or choose another model.`,
      retryable: false,
    }),
    call,
  })

export const noToolsOffered = (call: StepCall): JobFailure =>
  new JobFailure({
    problem: makeProblem({
      code: "no-tools-offered",
      status: 502,
      title: "The model called tools in a step that offered none.",
      detail: "Choose another model, or the mode `direct` with the tools that the task needs.",
    }),
    call,
  })

/** If a conversation became too long, adds the share of tool output to the failure. */
export const withToolOutput = (messages: ReadonlyArray<Message>) => (failure: JobFailure) => {
  const { problem } = failure
  const outputs = messages.flatMap(({ content, role }) =>
    role === "tool" && typeof content === "string" ? Buffer.byteLength(content) : [],
  )
  if (problem.code !== "context-too-long" || outputs.length === 0) return failure
  const kib = Math.ceil(outputs.reduce((sum, bytes) => sum + bytes, 0) / 1024)
  const detail = `Tool output filled the context: ${kib} KiB in ${outputs.length} calls. Let the tools answer with less, lower ${TURNS_OF_JOB}, or permit a model with a longer context.`
  return new JobFailure({
    ...failure,
    problem: { ...problem, detail: problem.detail === undefined ? detail : `${detail} ${problem.detail}` },
  })
}

export const toolsUnavailable = (server: string, why: string, retryable: boolean): JobFailure =>
  new JobFailure({
    problem: makeProblem({
      code: "tools-unavailable",
      status: 502,
      title: "An MCP server of the agent did not list its tools.",
      detail: `${server}: ${why}`,
      retryable,
    }),
  })

/** Whether an agent has limits that must be checked before each call. */
export const isLimited = ({ max_calls, max_cost_micro_usd, max_tokens }: AgentLimits): boolean =>
  max_calls !== undefined || max_cost_micro_usd !== undefined || max_tokens !== undefined

export const allowanceOf = (limits: AgentLimits, spent: Spent): Allowance => ({
  calls: (limits.max_calls ?? Infinity) - spent.calls,
  tokens: (limits.max_tokens ?? Infinity) - spent.charged_tokens,
  cost: (limits.max_cost_micro_usd ?? Infinity) - spent.charged_cost,
})

export const limitReached = ({ calls, cost, tokens }: Allowance): keyof Allowance | undefined => {
  if (calls < 1) return "calls"
  if (tokens < 1) return "tokens"
  return cost < 1 ? "cost" : undefined
}

const LIMITS = {
  calls: { member: "max_calls", code: "call-limit-reached", title: "The job used up its calls." },
  tokens: { member: "max_tokens", code: "token-limit-reached", title: "The job used up its tokens." },
  cost: { member: "max_cost_micro_usd", code: "cost-limit-reached", title: "The job used up its budget." },
} as const

/** Failure of a job whose limit allows no further call. `call` is the failed call that exhausted the limit. */
export const limitFailure = (
  limits: AgentLimits,
  spent: Spent,
  limit: keyof Allowance,
  call?: StepCall | undefined,
): JobFailure => {
  const { code, member, title } = LIMITS[limit]
  const isEstimated =
    spent.charged_tokens !== spent.input_tokens + spent.output_tokens || spent.charged_cost !== spent.cost
  const used = `${spent.charged_tokens} tokens in ${spent.calls} calls, ${spent.charged_cost} micro-USD`
  const estimated = isEstimated ? ", partly estimated: a provider reported no usage" : ""
  const detail = `limits.${member} is ${limits[member]}. Spent so far: ${used}${estimated}.`
  return new JobFailure({
    problem: makeProblem({ code, status: 422, title, detail, retryable: false }),
    ...withoutUndefined({ call }),
  })
}
