/** What people fill in, as the API wants it; what does not fit is said per field, before anything is sent. */
import {
  DEFAULT_LIMITS,
  DEFAULT_MODE,
  type CreateAgent,
  MAX_NAME,
  MAX_TIMEOUT_SECONDS,
} from "../../../domain/jobs/agent.ts"
import type { ExecuteRequest } from "../../../domain/jobs/job.ts"
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
}

const { maximum: MAX_ROUNDS, minimum: MIN_ROUNDS } = MODES.adversarial.option
const MICRO = 1_000_000

type Mistakes<Fields> = Partial<Record<keyof Fields, string>>

/** What was filled in, or what is wrong with it by field. */
type Checked<A, Fields> =
  | { readonly ok: true; readonly value: A }
  | { readonly ok: false; readonly mistakes: Mistakes<Fields> }

/** The whole number that a text is, if it is one between these. */
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
  if (name.length > MAX_NAME) mistakes.name = `At most ${MAX_NAME} characters.`
  const max_rounds = whole(fields.rounds, MIN_ROUNDS, MAX_ROUNDS)
  if (max_rounds === undefined) mistakes.rounds = `A whole number from ${MIN_ROUNDS} to ${MAX_ROUNDS}.`
  const timeout_seconds = whole(fields.timeout, 1, MAX_TIMEOUT_SECONDS)
  if (timeout_seconds === undefined) mistakes.timeout = `Seconds, from 1 to ${MAX_TIMEOUT_SECONDS}.`
  const max_tokens = whole(fields.tokens, 1, Number.MAX_SAFE_INTEGER)
  if (fields.tokens.trim() !== "" && max_tokens === undefined) mistakes.tokens = "A whole number, or nothing."
  const max_calls = whole(fields.calls, 1, Number.MAX_SAFE_INTEGER)
  if (fields.calls.trim() !== "" && max_calls === undefined) mistakes.calls = "A whole number, or nothing."
  const cost = Math.round(Number(fields.cost.trim().replace(/^\$/, "")) * MICRO)
  const hasCost = fields.cost.trim() !== ""
  if (hasCost && !(Number.isSafeInteger(cost) && cost > 0)) mistakes.cost = "US dollars, such as 0.50, or nothing."
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

export const checkTask = ({ effort, mode, task }: TaskFields): Checked<ExecuteRequest, TaskFields> =>
  task.trim() === ""
    ? { ok: false, mistakes: { task: "Say what is to be done." } }
    : { ok: true, value: { task: task.trim(), mode, options: { effort } } }
