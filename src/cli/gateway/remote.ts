/** A running gateway, as commands reach it. */
import { Config, Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import { SealgateError } from "../../client/errors.ts"
import { GatewayClient } from "../../client/GatewayClient.ts"
import { UrlText } from "../../layers/config/codecs.ts"
import { CommandFailed, unusable } from "../CommandFailed.ts"

export const gatewayFlag = Flag.String("gateway").pipe(
  Flag.withDescription("Where the gateway is"),
  Flag.withSchema(UrlText),
  Flag.withDefault(new URL("http://localhost:3000")),
)

/** Said in the help of every command that needs it: a flag would show the token to everybody on the machine. */
export const TOKEN_HELP = "The bearer token is read from the environment variable TOKEN."

export const connect = Effect.fnUntraced(function* (url: URL) {
  const token = yield* Config.option(Config.Redacted("TOKEN"))
  if (Option.isNone(token)) {
    return yield* unusable(
      "TOKEN is not set. Put the gateway's bearer token there: `sealgate token` makes one, --dev prints one.",
    )
  }
  return new GatewayClient({ baseUrl: url.href, token: Redacted.value(token.value) })
})

/** Asks the gateway; a refusal ends the command with what the gateway said. */
export const ask = <A>(call: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.tryPromise({
    try: call,
    catch: (error) => {
      // Anything else than the client's own errors is a fault of the client.
      if (!(error instanceof SealgateError)) throw error
      return new CommandFailed({ message: error.message, exitCode: 1 })
    },
  })

/** `$0.001234`; an unknown cost is called that, never nothing. */
export const dollars = (microUsd: number | null | undefined): string =>
  microUsd == null ? "unknown" : `${microUsd < 0 ? "-" : ""}$${(Math.abs(microUsd) / 1e6).toFixed(6)}`

/** Rows as aligned columns. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
