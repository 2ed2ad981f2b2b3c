/** Validates the form of a key and converts it to an API request, with one message per invalid field. */
import { Schema, Struct } from "effect"
import type { GatewayKey, KeyChange, KeySettings } from "../../../client/gateway/GatewayKeys.ts"
import { Budget } from "../../../domain/access/budgets.ts"
import { MAX_AT_ONCE, MAX_KEY_WEIGHT, MAX_PER_MINUTE } from "../../../domain/access/keys.ts"
import { Role } from "../../../domain/access/roles.ts"
import { AgentId } from "../../../domain/jobs/agent.ts"

export const PERIODS = Budget.fields.per.literals
export type Period = Budget["per"]

export interface BudgetFields {
  readonly per: Period
  /** In US dollars. */
  readonly cost: string
  readonly tokens: string
}

export interface KeyFields {
  readonly name: string
  readonly role: Role
  /** Patterns, separated by commas. */
  readonly models: string
  readonly denied: string
  /** Ids, separated by commas. */
  readonly agents: string
  readonly rate: string
  readonly weight: string
  /** The most running jobs. */
  readonly jobs: string
  /** The most calls in flight. */
  readonly calls: string
  /** Days until it expires; empty for never. */
  readonly days: string
  readonly budgets: ReadonlyArray<BudgetFields>
}

export const NO_BUDGET: BudgetFields = { per: "day", cost: "", tokens: "" }
export const NEW_KEY: KeyFields = {
  name: "",
  role: "run",
  models: "",
  denied: "",
  agents: "",
  rate: "",
  weight: "",
  jobs: "",
  calls: "",
  days: "",
  budgets: [NO_BUDGET],
}

/** Keys with these roles could make unlimited ones, so they have no limits. */
export const isLimitable = (role: Role): boolean => role === "read" || role === "run"

export type KeyMistakes = Partial<Record<Exclude<keyof KeyFields, "role">, string>>

const isAgentId = Schema.is(AgentId)

const MICRO = 1_000_000
const MAX_NAME = 200
const MAX_DAYS = 36_500
const DAY_MS = 86_400_000

/** A number above zero in a field that may be empty. `null` is a mistake. */
const above0 = (text: string, unit = 1): number | undefined | null => {
  const typed = text.trim().replace(/^\$/, "")
  if (typed === "") return undefined
  const number = Number(typed) * unit
  const rounded = Math.round(number)
  // A millionth of a millionth is the error of floating point, not a smaller amount.
  const isWhole = Math.abs(number - rounded) < 1e-6
  return isWhole && Number.isSafeInteger(rounded) && rounded > 0 ? rounded : null
}

const isBeyond = (number: number | undefined | null, most: number): boolean => number === null || (number ?? 0) > most
const wholeUpTo = (most: number): string =>
  `Enter a whole number up to ${most.toLocaleString("en-US")}, or leave it empty.`

const limitsOf = ({ cost, per, tokens }: BudgetFields) => ({
  per,
  max_cost_micro_usd: above0(cost, MICRO),
  max_tokens: above0(tokens),
})

type Limits = ReturnType<typeof limitsOf>

const budgetMistake = (budgets: ReadonlyArray<Limits>): string | undefined => {
  if (budgets.some((budget) => budget.max_cost_micro_usd === null || budget.max_tokens === null))
    return "Enter US dollars, such as 0.50, and whole numbers of tokens, or leave them empty."
  return new Set(budgets.map(({ per }) => per)).size < budgets.length ? "Use each period once." : undefined
}

const toBudget = ({ max_cost_micro_usd: cost, max_tokens: tokens, per }: Limits): Budget => ({
  per,
  ...(cost == null ? {} : { max_cost_micro_usd: cost }),
  ...(tokens == null ? {} : { max_tokens: tokens }),
})

/** `now` is in milliseconds since the epoch. */
export const checkKey = (
  fields: KeyFields,
  now: number,
): { readonly value: KeySettings } | { readonly mistakes: KeyMistakes } => {
  const name = fields.name.trim()
  const [rate, weight] = [above0(fields.rate), above0(fields.weight)]
  const [jobs, calls] = [above0(fields.jobs), above0(fields.calls)]
  const days = above0(fields.days)
  const isLimited = isLimitable(fields.role)
  const budgets = isLimited
    ? fields.budgets.filter(({ cost, tokens }) => `${cost}${tokens}`.trim() !== "").map(limitsOf)
    : []
  const listIn = (text: string) => (isLimited ? text.split(",").flatMap((part) => part.trim() || []) : [])
  const [allow, deny, agents] = [listIn(fields.models), listIn(fields.denied), listIn(fields.agents)]
  const models = { ...(allow.length > 0 && { allow }), ...(deny.length > 0 && { deny }) }
  const wrongBudget = budgetMistake(budgets)
  const mistakes: KeyMistakes = {
    ...(name === "" && { name: "Give the key a name: the program or person that gets it." }),
    ...(name.length > MAX_NAME && { name: `Use at most ${MAX_NAME} characters.` }),
    ...(!agents.every(isAgentId) && { agents: "Enter ids of agents, separated by commas, or leave it empty." }),
    ...(isBeyond(rate, MAX_PER_MINUTE) && { rate: wholeUpTo(MAX_PER_MINUTE) }),
    ...(isBeyond(weight, MAX_KEY_WEIGHT) && { weight: wholeUpTo(MAX_KEY_WEIGHT) }),
    ...(isBeyond(jobs, MAX_AT_ONCE) && { jobs: wholeUpTo(MAX_AT_ONCE) }),
    ...(isBeyond(calls, MAX_AT_ONCE) && { calls: wholeUpTo(MAX_AT_ONCE) }),
    ...(isBeyond(days, MAX_DAYS) && { days: "Enter whole days, such as 90, or leave it empty." }),
    ...(wrongBudget !== undefined && { budgets: wrongBudget }),
  }
  if (Object.keys(mistakes).length > 0) return { mistakes }
  return {
    value: {
      name,
      roles: [fields.role],
      ...(allow.length + deny.length === 0 ? {} : { models }),
      ...(agents.length === 0 ? {} : { agents }),
      ...(budgets.length === 0 ? {} : { budgets: budgets.map(toBudget) }),
      ...(rate == null ? {} : { requests_per_minute: rate }),
      ...(weight == null ? {} : { weight }),
      ...(jobs == null ? {} : { max_running_jobs: jobs }),
      ...(calls == null ? {} : { max_calls_in_flight: calls }),
      ...(days == null ? {} : { expires_at: new Date(now + days * DAY_MS).toISOString() }),
    },
  }
}

/** The fields of a key at `now`, in milliseconds since the epoch. */
export const fieldsOf = (key: GatewayKey, now: number): KeyFields => {
  const left = key.expires_at === undefined ? 0 : Math.ceil((Date.parse(key.expires_at) - now) / DAY_MS)
  const budgets = (key.budgets ?? []).map(({ max_cost_micro_usd: cost, max_tokens: tokens, per }) => ({
    per,
    cost: cost === undefined ? "" : String(cost / MICRO),
    tokens: String(tokens ?? ""),
  }))
  return {
    name: key.name,
    role: Role.literals.findLast((role) => key.roles.includes(role)) ?? "read",
    models: key.models?.allow?.join(", ") ?? "",
    denied: key.models?.deny?.join(", ") ?? "",
    agents: key.agents?.join(", ") ?? "",
    rate: String(key.requests_per_minute ?? ""),
    weight: String(key.weight ?? ""),
    jobs: String(key.max_running_jobs ?? ""),
    calls: String(key.max_calls_in_flight ?? ""),
    days: left > 0 ? String(left) : "",
    budgets: budgets.length === 0 ? [NO_BUDGET] : budgets,
  }
}

const WITHOUT_LIMITS = {
  models: null,
  agents: null,
  budgets: null,
  requests_per_minute: null,
  weight: null,
  max_running_jobs: null,
  max_calls_in_flight: null,
  expires_at: null,
} as const satisfies KeyChange

/** What `settings` change of a key with the fields `given`. The rest is left out: others may have changed it since. */
export const changeOf = (given: KeyFields, settings: KeySettings, now: number): KeyChange => {
  const checked = checkKey(given, now)
  const before: KeyChange = { ...WITHOUT_LIMITS, ...("value" in checked && checked.value) }
  const after: KeyChange = { ...WITHOUT_LIMITS, ...settings }
  const isKept = (name: keyof KeyChange) => JSON.stringify(before[name]) === JSON.stringify(after[name])
  return Struct.omit(after, Struct.keys(after).filter(isKept))
}
