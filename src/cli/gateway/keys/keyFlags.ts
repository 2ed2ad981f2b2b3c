/** Flags for what a key may do. */
import { DateTime, type Duration, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import type { Budget } from "../../../domain/access/budgets.ts"
import { MAX_AT_ONCE, MAX_KEY_WEIGHT, MAX_PER_MINUTE } from "../../../domain/access/keys.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import { AgentId } from "../../../domain/jobs/agent.ts"
import { DurationText, intText } from "../../../layers/config/codecs.ts"
import { optionalFlag, valueFlag } from "../../flags.ts"
import { BudgetText, joinBudgets } from "./budgetText.ts"

const repeated = <A>(name: string, metavar: string, description: string, codec: Schema.Codec<A, string>) =>
  valueFlag(name, metavar, `${description}; may be repeated`, codec).pipe(Flag.atLeast(0))

export const limitFlags = {
  budgets: repeated(
    "budget",
    "limit",
    "Most that its calls may use, such as 5usd/day or 100000tokens/total",
    BudgetText,
  ),
  allow: repeated("allow-model", "pattern", "The only models that it may use, such as '*mini*'", Schema.NonEmptyString),
  deny: repeated("deny-model", "pattern", "Models that it may not use", Schema.NonEmptyString),
  agents: repeated("agent", "id", "The only agents that it may see and use", AgentId),
  perMinute: optionalFlag(
    "requests-per-minute",
    "number",
    "Requests per minute (default: those of the tenant)",
    intText(1, MAX_PER_MINUTE),
  ),
  weight: optionalFlag(
    "weight",
    "number",
    "How many of its jobs start for each job of another key while both wait (default: 1)",
    intText(1, MAX_KEY_WEIGHT),
  ),
  runningJobs: optionalFlag(
    "max-running-jobs",
    "number",
    "How many of its jobs may be under way; the others wait (default: any number)",
    intText(1, MAX_AT_ONCE),
  ),
  callsInFlight: optionalFlag(
    "max-calls-in-flight",
    "number",
    "How many model calls it may have in flight at one gateway (default: those of the tenant)",
    intText(1, MAX_AT_ONCE),
  ),
  ttl: optionalFlag("ttl", "time", "How long it is valid, such as 12h or 90d (default: until revoked)", DurationText),
}

interface Limits {
  readonly budgets: ReadonlyArray<Budget>
  readonly allow: ReadonlyArray<string>
  readonly deny: ReadonlyArray<string>
  readonly agents: ReadonlyArray<string>
  readonly perMinute: Option.Option<number>
  readonly weight: Option.Option<number>
  readonly runningJobs: Option.Option<number>
  readonly callsInFlight: Option.Option<number>
  readonly ttl: Option.Option<Duration.Duration>
}

const unlessEmpty = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> | undefined =>
  items.length === 0 ? undefined : items

/** Returns the given limits as the API takes them. */
export const limitsOf = Effect.fnUntraced(function* ({ agents, allow, budgets, deny, ttl, ...numbers }: Limits) {
  const models = withoutUndefined({ allow: unlessEmpty(allow), deny: unlessEmpty(deny) })
  const now = yield* DateTime.now
  return withoutUndefined({
    budgets: unlessEmpty(yield* joinBudgets(budgets)),
    models: Object.keys(models).length === 0 ? undefined : models,
    agents: unlessEmpty(agents),
    requests_per_minute: Option.getOrUndefined(numbers.perMinute),
    weight: Option.getOrUndefined(numbers.weight),
    max_running_jobs: Option.getOrUndefined(numbers.runningJobs),
    max_calls_in_flight: Option.getOrUndefined(numbers.callsInFlight),
    expires_at: Option.getOrUndefined(Option.map(ttl, (ttl) => DateTime.formatIso(DateTime.addDuration(now, ttl)))),
  })
})
