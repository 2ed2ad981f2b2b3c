import { Effect, Schema } from "effect"
import { usd } from "../../domain/routing/dollars.ts"
import { Argument, Command } from "effect/cli"
import { isObject, parseJson } from "../../domain/json/json.ts"
import { RoutingSettingsInput } from "../../domain/routing/routing.ts"
import type { RoutingSettings } from "../../client/gateway/GatewayClient.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import { unusable } from "../CommandFailed.ts"
import { readInput } from "../inputFile.ts"
import { withHelp } from "../help/Guide.ts"
import { printableLine } from "../printable.ts"
import { table } from "../table.ts"
import { askAndPrint, EXITS, gatewayFlags, withGatewayHelp } from "./remote.ts"

const priceOf = ({ effective_prices }: RoutingSettings, provider: string, model: string): string => {
  const found = effective_prices.find((price) => price.provider === provider && price.model === model)?.prices
  return found == null ? "unknown" : `${usd(found.input)} in, ${usd(found.output)} out`
}

const shown = (settings: RoutingSettings): string =>
  [
    `strategy ${settings.strategy}, version ${settings.version}`,
    `baseline ${printableLine(settings.baseline.provider)}/${printableLine(settings.baseline.model)}`,
    "",
    table([
      ["PROVIDER", "MODEL", "PRICE PER MILLION TOKENS"],
      ...settings.targets.map(({ model, provider }) => [provider, model, priceOf(settings, provider, model)]),
    ]),
  ].join("\n")

const showCommand = Command.make("show", gatewayFlags, (input) =>
  askAndPrint(input, (gateway, options) => gateway.routing.config(options), shown),
).pipe(
  withGatewayHelp({
    summary: "Show how calls are routed",
    description:
      "Shows the routing configuration in force: strategy, targets with their prices, baseline. For administrators.",
    examples: [
      ["sealgate routing show", "For people"],
      ["sealgate routing show --json > routing.json", "Edit the file, then pass it to `routing set`"],
    ],
    next: "`sealgate routing set routing.json` replaces it.",
  }),
)

const decode = Schema.decodeUnknownEffect(RoutingSettingsInput, { onExcessProperty: "ignore" })

const readSettings = Effect.fnUntraced(function* (path: string) {
  const value = parseJson(String(yield* readInput(path)))
  if (!isObject(value))
    return yield* unusable(`${path} is not a JSON object. Start from the output of \`routing show --json\`.`)
  const { version } = value
  const input = yield* Effect.mapError(decode(value), ({ issue }) =>
    unusable(
      `${path} is not a valid routing configuration:\n${schemaIssues(issue, [])
        .map((each) => `  ${printableLine(each.path)}: ${printableLine(each.message)}`)
        .join("\n")}`,
    ),
  )
  return { input, version: typeof version === "number" ? version : undefined }
})

const setCommand = Command.make(
  "set",
  {
    file: Argument.String("file").pipe(Argument.withDescription("Configuration as printed by `routing show --json`")),
    ...gatewayFlags,
  },
  Effect.fn(function* ({ file, ...flags }) {
    const { input, version } = yield* readSettings(file)
    const ifVersion = version === undefined ? {} : { ifVersion: version }
    yield* askAndPrint(
      flags,
      (gateway, options) => gateway.routing.replaceConfig(input, { ...options, ...ifVersion }),
      (settings) => `In force within a second.\n${shown(settings)}`,
    )
  }),
).pipe(
  withGatewayHelp({
    summary: "Replace the routing configuration",
    description: `Replaces the routing configuration with a file, which the gateway validates as a whole. If the file has a version and
the configuration has changed since that version, nothing is replaced. For administrators.`,
    examples: [
      ["sealgate routing set routing.json", "In force within a second"],
      ["sealgate routing set routing.json --json", "For programs: the new configuration"],
    ],
    exits: {
      0: "the configuration is in force",
      2: "wrong usage, the file cannot be used, or SEALGATE_TOKEN is not set",
    },
  }),
)

export const routingCommand = Command.make("routing").pipe(
  withHelp({
    summary: "Show and replace the routing configuration",
    description: "Shows and replaces how a gateway chooses models: strategy, targets, prices. For administrators.",
    examples: [
      ["sealgate routing show", "The configuration in force"],
      ["sealgate routing set routing.json", "Replace it"],
    ],
    exits: EXITS,
    next: "See `sealgate routing set --help`.",
  }),
  Command.withSubcommands([showCommand, setCommand]),
)
