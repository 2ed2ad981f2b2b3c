/** What goes wrong inside a mode, as the problem that the job's owner sees. */
import { Redacted } from "effect"
import type { AgentLimits } from "../../../../domain/jobs/agent.ts"
import type { StepCall } from "../../../../domain/jobs/job.ts"
import { failureCodes } from "../../../../domain/upstream/failures.ts"
import { makeProblem } from "../../../../domain/problems/problem.ts"
import type { UpstreamError } from "../../../../domain/upstream/upstream.ts"
import type { Allowance } from "../../../routing/Allowance.ts"
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

/** A call that the router could not get answered. */
export const routingFailure = (error: RouterError): JobFailure => {
  if (error._tag === "CallFailed") {
    const { retryAfterMs } = error.error
    return new JobFailure({
      problem: upstreamProblem(error.error),
      ...withoutUndefined({ retryAfterMs, call: error.call }),
    })
  }
  const { code, message, retryable, status } = error
  return new JobFailure({ problem: makeProblem({ code, status, title: message, retryable }) })
}

/** The model that was to do the task declined to. */
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

/** The model that was to do the task wrote nothing. */
export const emptyAnswer = (call: StepCall): JobFailure =>
  new JobFailure({
    problem: makeProblem({ code: "upstream-protocol", status: 502, title: "The model gave no answer." }),
    call,
  })

/** Whether there is anything to look at before a call. */
export const isLimited = ({ max_calls, max_cost_micro_usd, max_tokens }: AgentLimits): boolean =>
  max_calls !== undefined || max_cost_micro_usd !== undefined || max_tokens !== undefined

/** What is left of the limits. */
export const allowanceOf = (limits: AgentLimits, spent: Spent): Allowance => ({
  calls: (limits.max_calls ?? Infinity) - spent.calls,
  tokens: (limits.max_tokens ?? Infinity) - spent.charged_tokens,
  cost: (limits.max_cost_micro_usd ?? Infinity) - spent.charged_cost,
})

/** The limit that is used up; `undefined` if none is. */
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

/** The job may not make another call; `call` is the one that used up its limit, where it failed. */
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
  const estimated = isEstimated ? ", in part estimated because a provider did not say" : ""
  const detail = `limits.${member} is ${limits[member]}. Spent so far: ${used}${estimated}.`
  return new JobFailure({
    problem: makeProblem({ code, status: 422, title, detail, retryable: false }),
    ...withoutUndefined({ call }),
  })
}
