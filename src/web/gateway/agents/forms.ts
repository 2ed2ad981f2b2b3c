/** Validates forms and converts them to API requests, with one message per invalid field. */
import { Schema } from "effect"
import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import {
  DEFAULT_LIMITS,
  DEFAULT_MODE,
  type CreateAgent,
  MAX_NAME,
  MAX_TIMEOUT_SECONDS,
} from "../../../domain/jobs/agent.ts"
import { Concurrency } from "../../../domain/jobs/concurrency.ts"
import type { ExecuteRequest, JobPriority } from "../../../domain/jobs/job.ts"
import { type Mode, MODES } from "../../../domain/jobs/modes.ts"
import { DEFAULT_EFFORT, type Effort } from "../../../domain/jobs/modes/description.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import { type Checked, DOLLAR_DECIMALS, type Mistakes, numberIn } from "../checkedForm.ts"

export interface AgentFields {
  readonly name: string
  readonly role: string
  readonly instructions: string
  readonly mode: Mode
  readonly effort: Effort
  readonly rounds: string
  readonly timeout: string
  readonly tokens: string
  readonly calls: string
  /** In US dollars. */
  readonly cost: string
}

export const NEW_AGENT: AgentFields = {
  name: "",
  role: "",
  instructions: "",
  mode: DEFAULT_MODE,
  effort: DEFAULT_EFFORT,
  rounds: String(DEFAULT_LIMITS.max_rounds),
  timeout: String(DEFAULT_LIMITS.timeout_seconds),
  tokens: "",
  calls: "",
  cost: "",
}

export interface TaskFields {
  readonly task: string
  readonly mode: Mode
  readonly effort: Effort
  readonly priority: JobPriority
  /** A concurrency key; empty for none. */
  readonly concurrency: string
}

const isConcurrencyKey = Schema.is(Concurrency.fields.key)

const { maximum: MAX_ROUNDS, minimum: MIN_ROUNDS } = MODES.adversarial.option

const WHOLE = "Enter a whole number, or leave it empty."

export const checkAgent = (fields: AgentFields): Checked<CreateAgent, keyof AgentFields> => {
  const [name, role, instructions] = [fields.name.trim(), fields.role.trim(), fields.instructions.trim()]
  const max_rounds = numberIn(fields.rounds, MAX_ROUNDS)
  const timeout_seconds = numberIn(fields.timeout, MAX_TIMEOUT_SECONDS)
  const max_tokens = numberIn(fields.tokens)
  const max_calls = numberIn(fields.calls)
  const max_cost_micro_usd = numberIn(fields.cost, Number.MAX_SAFE_INTEGER, DOLLAR_DECIMALS)
  const mistakes: Mistakes<keyof AgentFields> = {
    ...(name === "" && { name: "Give the agent a name." }),
    ...(name.length > MAX_NAME && { name: `Use at most ${MAX_NAME} characters.` }),
    ...(max_rounds == null && { rounds: `Enter a whole number from ${MIN_ROUNDS} to ${MAX_ROUNDS}.` }),
    ...(timeout_seconds == null && { timeout: `Enter seconds from 1 to ${MAX_TIMEOUT_SECONDS}.` }),
    ...(max_tokens === null && { tokens: WHOLE }),
    ...(max_calls === null && { calls: WHOLE }),
    ...(max_cost_micro_usd === null && { cost: "Enter US dollars, such as 0.50, or leave it empty." }),
  }
  if (Object.keys(mistakes).length > 0) return { mistakes }
  return {
    value: {
      name,
      ...(role === "" ? {} : { role }),
      ...(instructions === "" ? {} : { instructions }),
      default_mode: fields.mode,
      default_effort: fields.effort,
      limits: withoutUndefined({
        max_rounds: max_rounds ?? undefined,
        timeout_seconds: timeout_seconds ?? undefined,
        max_calls: max_calls ?? undefined,
        max_tokens: max_tokens ?? undefined,
        max_cost_micro_usd: max_cost_micro_usd ?? undefined,
      }),
    },
  }
}

export const checkTask = (fields: TaskFields): Checked<ExecuteRequest, keyof TaskFields> => {
  const { effort, mode, priority } = fields
  const [task, key] = [fields.task.trim(), fields.concurrency.trim()]
  const mistakes: Mistakes<keyof TaskFields> = {
    ...(task === "" && { task: "Enter a task." }),
    ...(key !== "" &&
      !isConcurrencyKey(key) && {
        concurrency: "Use up to 255 ASCII characters without spaces, or leave it empty.",
      }),
  }
  if (Object.keys(mistakes).length > 0) return { mistakes }
  return {
    value: {
      task,
      mode,
      options: { effort },
      ...(priority === "normal" ? {} : { priority }),
      ...(key === "" ? {} : { concurrency: { key } }),
    },
  }
}

/** The request that repeats a job. Only callers who may change agents may use priority `high`. */
export const requestOf = (job: Job, { changes }: { readonly changes: boolean }): ExecuteRequest => ({
  mode: job.mode,
  options: job.options,
  metadata: job.metadata,
  priority: job.priority === "high" && !changes ? "normal" : job.priority,
  ...withoutUndefined({ concurrency: job.concurrency, thread_id: job.thread_id }),
  ...(typeof job.task === "string" ? { task: job.task } : { messages: job.task }),
})
