import { Command } from "effect/cli"
import { conformanceClientCommand } from "./conformance/clientCommand.ts"
import { conformanceProxyCommand } from "./conformance/proxyCommand.ts"
import { withHelp } from "./help/Guide.ts"

export const conformanceCommand = Command.make("conformance").pipe(
  withHelp({
    summary: "Test servers and clients of the protocol",
    description: `Checks servers and clients of the sealed completion protocol against the rules of docs/protocol, for authors of other
implementations.`,
    examples: [
      ["sealgate conformance proxy http://localhost:3001 --pin <pin>", "A server"],
      ["sealgate conformance client -- python3 client.py {url} {pin}", "A client"],
    ],
    exits: { 0: "nothing failed", 1: "something failed" },
    next: "See `sealgate conformance proxy --help` and `sealgate conformance client --help`.",
  }),
  Command.withSubcommands([conformanceProxyCommand, conformanceClientCommand]),
)
