import { Clock, Duration, Effect, Option } from "effect"
import { usd } from "../../domain/routing/dollars.ts"
import { SpendBy } from "../../domain/routing/spend.ts"
import { Command } from "effect/cli"
import type { RoutingStats, Spend } from "../../client/gateway/GatewayClient.ts"
import { DurationText } from "../../layers/config/codecs.ts"
import { unusable } from "../CommandFailed.ts"
import { pageWidth, wrap } from "../help/layout.ts"
import { printable } from "../printable.ts"
import { table } from "../table.ts"
import { limitFlag } from "./listCommand.ts"
import { askAndPrint, gatewayFlag, json, withGatewayHelp } from "./remote.ts"
import { optionalFlag, switchFlag } from "../flags.ts"

const statsText = (stats: RoutingStats): string => {
  const percent = stats.saved_percent === null ? "" : ` (${stats.saved_percent.toFixed(1)} %)`
  return `${table([
    ["from", stats.from],
    ["to", stats.to],
    ["calls", `${stats.calls}, ${stats.failed_calls} failed, ${stats.unpriced_calls} without a price`],
    ["cost", usd(stats.actual_micro_usd)],
    ["baseline", usd(stats.baseline_micro_usd)],
    ["saved", `${usd(stats.saved_micro_usd)}${percent}`],
  ])}\n\n${wrap(printable(stats.method), pageWidth()).join("\n")}`
}

const spendText = ({ by, from, items, rest, to, total }: Spend): string => {
  const row = (value: string, name: string, sums: Spend["total"]) => [
    value,
    name,
    usd(sums.cost_micro_usd),
    String(sums.calls),
    String(sums.failed_calls),
    String(sums.unpriced_calls),
    String(sums.input_tokens + sums.output_tokens),
  ]
  return `${table([
    [by.toUpperCase(), "NAME", "COST", "CALLS", "FAILED", "UNPRICED", "TOKENS"],
    ...items.map(({ name = "", value, ...sums }) => row(value, name, sums)),
    row("(rest)", "", rest),
    row("(total)", "", total),
  ])}\n\nFrom ${from} to ${to}.`
}

export const statsCommand = Command.make(
  "stats",
  {
    gateway: gatewayFlag,
    by: optionalFlag("by", "what", "Spend by key, agent, model or label:NAME; requires the role manage", SpendBy),
    last: optionalFlag("last", "time", "How far to look back, such as 1h or 30d (default 24h)", DurationText),
    limit: limitFlag,
    all: switchFlag("all", "Stats of all tenants; requires the role admin"),
    json,
  },
  Effect.fn(function* (input) {
    if (input.all && Option.isSome(input.by)) {
      return yield* unusable("--by covers one tenant: leave out --all or --by.")
    }
    const to = new Date(yield* Clock.currentTimeMillis)
    const last = Option.getOrElse(input.last, () => Duration.hours(24))
    const span = { from: new Date(to.getTime() - Duration.toMillis(last)), to }
    if (Option.isSome(input.by)) {
      const by = input.by.value
      const { limit } = input
      return yield* askAndPrint(
        input,
        (gateway, options) => gateway.routing.spend(by, { ...span, limit, ...options }),
        spendText,
      )
    }
    const scope = input.all ? "all" : "tenant"
    yield* askAndPrint(input, (gateway, options) => gateway.routing.stats({ ...span, scope, ...options }), statsText)
  }),
).pipe(
  withGatewayHelp({
    summary: "Show what routing cost and saved, and who spent it",
    description: `Shows the cost of your tenant's model calls in the last 24 hours, their cost with the gateway's baseline model, the
savings by routing, and how they were computed. With --by, the keys, agents, models or values of a label that cost most.`,
    examples: [
      ["sealgate stats", "Your tenant"],
      ["sealgate stats --by key --last 30d", "The keys that cost most in 30 days"],
      ["sealgate stats --by label:project", "By a label that callers give in `metadata`"],
      ["sealgate stats --all", "All tenants"],
      ["sealgate stats --json", "For programs: amounts in micro-USD"],
    ],
  }),
)
