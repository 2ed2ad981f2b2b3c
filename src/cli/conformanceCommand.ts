import { Command } from "effect/cli"
import { conformanceClientCommand } from "./conformance/clientCommand.ts"
import { conformanceProxyCommand } from "./conformance/proxyCommand.ts"
import { INTERRUPTED, MISUSED, withGuide } from "./help/Guide.ts"

export const conformanceCommand = Command.make("conformance").pipe(
  Command.withShortDescription("Test servers and clients of the protocol"),
  Command.withDescription(
    `Checks servers and clients of the sealed completion protocol against the rules of docs/protocol, for authors of other
implementations.`,
  ),
  Command.withExamples([
    { command: "sealgate conformance proxy http://localhost:3001 --pin <pin>", description: "A server" },
    { command: "sealgate conformance client -- python3 client.py {url} {pin}", description: "A client" },
  ]),
  withGuide({
    exits: { 0: "nothing failed", 1: "something failed", 2: MISUSED, 130: INTERRUPTED },
    next: "See `sealgate conformance proxy --help` and `sealgate conformance client --help`.",
  }),
  Command.withSubcommands([conformanceProxyCommand, conformanceClientCommand]),
)
