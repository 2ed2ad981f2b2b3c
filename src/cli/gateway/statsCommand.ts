import { Console, Effect } from "effect"
import { usd } from "../../domain/routing/dollars.ts"
import { Command } from "effect/cli"
import { withHelp } from "../help/Guide.ts"
import { pageWidth, wrap } from "../help/layout.ts"
import { printable, printableJson } from "../printable.ts"
import { table } from "../table.ts"
import { json } from "./listFlags.ts"
import { ask, connect, ENVIRONMENT, EXITS, gatewayFlag } from "./remote.ts"
import { switchFlag } from "../flags.ts"

export const statsCommand = Command.make(
  "stats",
  {
    gateway: gatewayFlag,
    all: switchFlag("all", "Stats of all tenants; requires the role admin"),
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const scope = input.all ? "all" : "tenant"
    const stats = yield* ask((signal) => gateway.routing.stats({ scope, signal }))
    if (input.json) return yield* Console.log(printableJson(stats))
    const percent = stats.saved_percent === null ? "" : ` (${stats.saved_percent.toFixed(1)} %)`
    yield* Console.log(
      `${table([
        ["from", stats.from],
        ["to", stats.to],
        ["calls", `${stats.calls}, ${stats.failed_calls} failed, ${stats.unpriced_calls} without a price`],
        ["cost", usd(stats.actual_micro_usd)],
        ["baseline", usd(stats.baseline_micro_usd)],
        ["saved", `${usd(stats.saved_micro_usd)}${percent}`],
      ])}\n\n${wrap(printable(stats.method), pageWidth()).join("\n")}`,
    )
  }),
).pipe(
  withHelp({
    summary: "Show what routing cost and saved",
    description: `Shows the cost of your tenant's model calls in the last 24 hours, their cost with the gateway's baseline model, the
savings by routing, and how they were computed.`,
    examples: [
      ["sealgate stats", "Your tenant"],
      ["sealgate stats --all", "All tenants"],
      ["sealgate stats --json", "For programs: amounts in micro-USD"],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
  }),
)
