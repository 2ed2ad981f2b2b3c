/** What goes wrong inside a mode, as the problem that the job's owner sees. */
import { Redacted } from "effect"
import type { AgentLimits } from "../../../../domain/agent.ts"
import type { StepCall } from "../../../../domain/job.ts"
import { failureCodes } from "../../../../domain/failures.ts"
import { makeProblem } from "../../../../domain/problem.ts"
import type { UpstreamError } from "../../../../domain/upstream.ts"
import type { Spent } from "../../../routing/Ledger.ts"
import type { RouterError } from "../../../routing/RoutingErrors.ts"
import { JobFailure } from "../../JobProgram.ts"
import { defined } from "../../../../domain/defined.ts"

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
      ...defined({ retryAfterMs, call: error.call }),
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
export const isLimited = ({ max_cost_micro_usd, max_tokens }: AgentLimits): boolean =>
  max_cost_micro_usd !== undefined || max_tokens !== undefined

/** A limit of the agent is reached; `undefined` if none is. */
export const limitReached = (limits: AgentLimits, spent: Spent): JobFailure | undefined => {
  const { max_cost_micro_usd = Infinity, max_tokens = Infinity } = limits
  const cost = `${spent.cost} micro-USD${spent.unpriced === 0 ? "" : ` and ${spent.unpriced} calls of unknown cost`}`
  const tokens = spent.input_tokens + spent.output_tokens
  const used = `Spent so far: ${tokens} tokens in ${spent.calls} calls, ${cost}.`
  const failure = (code: string, title: string, limit: string) =>
    new JobFailure({
      problem: makeProblem({ code, status: 422, title, detail: `${limit} ${used}`, retryable: false }),
    })
  if (tokens >= max_tokens) {
    return failure("token-limit-reached", "The job used up its tokens.", `limits.max_tokens is ${max_tokens}.`)
  }
  if (spent.cost >= max_cost_micro_usd) {
    const limit = `limits.max_cost_micro_usd is ${max_cost_micro_usd}.`
    return failure("cost-limit-reached", "The job used up its budget.", limit)
  }
  return undefined
}
