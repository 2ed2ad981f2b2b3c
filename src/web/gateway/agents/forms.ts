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
const MICRO = 1_000_000

type Mistakes<Fields> = Partial<Record<keyof Fields, string>>

type Checked<A, Fields> =
  | { readonly ok: true; readonly value: A }
  | { readonly ok: false; readonly mistakes: Mistakes<Fields> }

const whole = (text: string, minimum: number, maximum: number): number | undefined => {
  const number = Number(text.trim())
  return text.trim() !== "" && Number.isSafeInteger(number) && number >= minimum && number <= maximum
    ? number
    : undefined
}

export const checkAgent = (fields: AgentFields): Checked<CreateAgent, AgentFields> => {
  const mistakes: Mistakes<AgentFields> = {}
  const name = fields.name.trim()
  if (name === "") mistakes.name = "Give the agent a name."
  if (name.length > MAX_NAME) mistakes.name = `Use at most ${MAX_NAME} characters.`
  const max_rounds = whole(fields.rounds, MIN_ROUNDS, MAX_ROUNDS)
  if (max_rounds === undefined) mistakes.rounds = `Enter a whole number from ${MIN_ROUNDS} to ${MAX_ROUNDS}.`
  const timeout_seconds = whole(fields.timeout, 1, MAX_TIMEOUT_SECONDS)
  if (timeout_seconds === undefined) mistakes.timeout = `Enter seconds from 1 to ${MAX_TIMEOUT_SECONDS}.`
  const max_tokens = whole(fields.tokens, 1, Number.MAX_SAFE_INTEGER)
  if (fields.tokens.trim() !== "" && max_tokens === undefined)
    mistakes.tokens = "Enter a whole number, or leave it empty."
  const max_calls = whole(fields.calls, 1, Number.MAX_SAFE_INTEGER)
  if (fields.calls.trim() !== "" && max_calls === undefined) mistakes.calls = "Enter a whole number, or leave it empty."
  const cost = Math.round(Number(fields.cost.trim().replace(/^\$/, "")) * MICRO)
  const hasCost = fields.cost.trim() !== ""
  if (hasCost && !(Number.isSafeInteger(cost) && cost > 0))
    mistakes.cost = "Enter US dollars, such as 0.50, or leave it empty."
  if (max_rounds === undefined || timeout_seconds === undefined || Object.keys(mistakes).length > 0) {
    return { ok: false, mistakes }
  }
  return {
    ok: true,
    value: {
      name,
      ...(fields.role.trim() === "" ? {} : { role: fields.role.trim() }),
      ...(fields.instructions.trim() === "" ? {} : { instructions: fields.instructions.trim() }),
      default_mode: fields.mode,
      default_effort: fields.effort,
      limits: {
        max_rounds,
        timeout_seconds,
        ...withoutUndefined({ max_calls, max_tokens }),
        ...(hasCost ? { max_cost_micro_usd: cost } : {}),
      },
    },
  }
}

export const checkTask = (fields: TaskFields): Checked<ExecuteRequest, TaskFields> => {
  const { effort, mode, priority } = fields
  const [task, key] = [fields.task.trim(), fields.concurrency.trim()]
  const mistakes: Mistakes<TaskFields> = {}
  if (task === "") mistakes.task = "Enter a task."
  if (key !== "" && !isConcurrencyKey(key))
    mistakes.concurrency = "Use up to 255 ASCII characters without spaces, or leave it empty."
  if (Object.keys(mistakes).length > 0) return { ok: false, mistakes }
  return {
    ok: true,
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
