import { Console, Effect } from "effect"
import { usd } from "../../domain/routing/dollars.ts"
import { Command, Flag } from "effect/cli"
import { withGuide } from "../help/Guide.ts"
import { pageWidth, wrap } from "../help/layout.ts"
import { printable, printableJson } from "../printable.ts"
import { table } from "../table.ts"
import { json } from "./listFlags.ts"
import { ask, connect, ENVIRONMENT, EXITS, gatewayFlag } from "./remote.ts"

export const statsCommand = Command.make(
  "stats",
  {
    gateway: gatewayFlag,
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Stats of all tenants; requires the role admin"),
      Flag.withDefault(false),
    ),
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
  Command.withShortDescription("Show what routing cost and saved"),
  Command.withDescription(
    `Shows the cost of your tenant's model calls in the last 24 hours, their cost with the gateway's baseline model, the
savings by routing, and how they were computed.`,
  ),
  Command.withExamples([
    { command: "sealgate stats", description: "Your tenant" },
    { command: "sealgate stats --all", description: "All tenants" },
    { command: "sealgate stats --json", description: "For programs: amounts in micro-USD" },
  ]),
  withGuide({ environment: ENVIRONMENT, exits: EXITS }),
)
