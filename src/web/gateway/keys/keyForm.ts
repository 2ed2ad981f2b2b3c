/** Validates the form of a key and converts it to an API request, with one message per invalid field. */
import { Schema, Struct } from "effect"
import type { GatewayKey, KeyChange, KeySettings } from "../../../client/gateway/GatewayKeys.ts"
import { Budget } from "../../../domain/access/budgets.ts"
import { MAX_AT_ONCE, MAX_KEY_WEIGHT, MAX_PER_MINUTE } from "../../../domain/access/keys.ts"
import { Role } from "../../../domain/access/roles.ts"
import { AgentId } from "../../../domain/jobs/agent.ts"
import { type Checked, DOLLAR_DECIMALS, type Mistakes, numberIn } from "../checkedForm.ts"

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
  readonly jobs: string
  readonly calls: string
  /** Days until it expires; empty for never, 0 if it expired. */
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

type FieldName = Exclude<keyof KeyFields, "role">
type KeyMistakes = Mistakes<FieldName>
/** Settings of a key, or the mistakes in its form. */
export type CheckedKey<A> = Checked<A, FieldName>

const isAgentId = Schema.is(AgentId)

const MAX_NAME = 200
const MAX_DAYS = 36_500
const DAY_MS = 86_400_000

/** Writes micro-USD as {@link numberIn} reads them. */
const dollarsOf = (microUsd: number): string => {
  const digits = String(microUsd).padStart(DOLLAR_DECIMALS + 1, "0")
  return `${digits.slice(0, -DOLLAR_DECIMALS)}.${digits.slice(-DOLLAR_DECIMALS)}`.replace(/\.?0{1,6}$/, "")
}

const wholeUpTo = (most: number): string =>
  `Enter a whole number up to ${most.toLocaleString("en-US")}, or leave it empty.`

const limitsOf = ({ cost, per, tokens }: BudgetFields) => ({
  per,
  max_cost_micro_usd: numberIn(cost, Number.MAX_SAFE_INTEGER, DOLLAR_DECIMALS),
  max_tokens: numberIn(tokens),
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

const listIn = (text: string) => text.split(",").flatMap((part) => part.trim() || [])

/** The fields without limits that the role cannot have. */
const effective = (fields: KeyFields): KeyFields =>
  isLimitable(fields.role) ? fields : { ...fields, models: "", denied: "", agents: "", budgets: [NO_BUDGET] }

/** The members of a key, and the mistakes. A member is meaningless if its field has a mistake. */
const read = (fields: KeyFields, now: number) => {
  const name = fields.name.trim()
  const rate = numberIn(fields.rate, MAX_PER_MINUTE)
  const weight = numberIn(fields.weight, MAX_KEY_WEIGHT)
  const [jobs, calls] = [numberIn(fields.jobs, MAX_AT_ONCE), numberIn(fields.calls, MAX_AT_ONCE)]
  const days = numberIn(fields.days, MAX_DAYS)
  const budgets = fields.budgets.filter(({ cost, tokens }) => `${cost}${tokens}`.trim() !== "").map(limitsOf)
  const [allow, deny, agents] = [listIn(fields.models), listIn(fields.denied), listIn(fields.agents)]
  const models = { ...(allow.length > 0 && { allow }), ...(deny.length > 0 && { deny }) }
  const wrongBudget = budgetMistake(budgets)
  const mistakes: KeyMistakes = {
    ...(name === "" && { name: "Give the key a name: the program or person that gets it." }),
    ...([...name].length > MAX_NAME && { name: `Use at most ${MAX_NAME} characters.` }),
    ...(!agents.every(isAgentId) && { agents: "Enter ids of agents, separated by commas, or leave it empty." }),
    ...(rate === null && { rate: wholeUpTo(MAX_PER_MINUTE) }),
    ...(weight === null && { weight: wholeUpTo(MAX_KEY_WEIGHT) }),
    ...(jobs === null && { jobs: wholeUpTo(MAX_AT_ONCE) }),
    ...(calls === null && { calls: wholeUpTo(MAX_AT_ONCE) }),
    ...(days === null && { days: "Enter whole days, such as 90, or leave it empty." }),
    ...(wrongBudget !== undefined && { budgets: wrongBudget }),
  }
  const members: KeySettings = {
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
  }
  return { members, mistakes }
}

const checked = <A>(value: A, mistakes: KeyMistakes): CheckedKey<A> =>
  Object.keys(mistakes).length > 0 ? { mistakes } : { value }

/** The settings of a new key. `now` is in milliseconds since the epoch. */
export const checkKey = (fields: KeyFields, now: number): CheckedKey<KeySettings> => {
  const { members, mistakes } = read(effective(fields), now)
  return checked(members, mistakes)
}

/** The fields of a key at `now`, in milliseconds since the epoch. */
export const fieldsOf = (key: GatewayKey, now: number): KeyFields => {
  const left = (time: string) => Math.max(0, Math.ceil((Date.parse(time) - now) / DAY_MS))
  const budgets = (key.budgets ?? []).map(({ max_cost_micro_usd: cost, max_tokens: tokens, per }) => ({
    per,
    cost: cost === undefined ? "" : dollarsOf(cost),
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
    days: key.expires_at === undefined ? "" : String(left(key.expires_at)),
    budgets: budgets.length === 0 ? [NO_BUDGET] : budgets,
  }
}

/** The fields that each member comes from. */
const MEMBERS = {
  name: ["name"],
  roles: ["role"],
  models: ["models", "denied"],
  agents: ["agents"],
  budgets: ["budgets"],
  requests_per_minute: ["rate"],
  weight: ["weight"],
  max_running_jobs: ["jobs"],
  max_calls_in_flight: ["calls"],
  expires_at: ["days"],
} as const satisfies Record<keyof KeyChange, ReadonlyArray<keyof KeyFields>>

const splits = (pattern: string): boolean => pattern.includes(",") || pattern !== pattern.trim()

/** Contains only edited members: the form cannot show every value, and somebody may have changed others meanwhile. */
export const checkChange = (
  { models: { allow = [], deny = [] } = {} }: GatewayKey,
  given: KeyFields,
  fields: KeyFields,
  now: number,
): CheckedKey<KeyChange> => {
  const typed = effective(fields)
  const { members, mistakes } = read(typed, now)
  const isKept = (field: keyof KeyFields) => JSON.stringify(given[field]) === JSON.stringify(typed[field])
  const changed = Struct.keys(MEMBERS).filter((member) => !MEMBERS[member].every(isKept))
  const removed = Object.fromEntries(changed.map((member) => [member, null]))
  const change: KeyChange = { ...removed, ...Struct.pick(members, changed) }
  return checked(change, {
    ...Struct.omit(mistakes, Struct.keys(mistakes).filter(isKept)),
    ...(change.models != null &&
      [...allow, ...deny].some(splits) && {
        models:
          "A pattern of this key has a comma or outer spaces: use `sealgate keys change`, or remove all patterns.",
      }),
  })
}
