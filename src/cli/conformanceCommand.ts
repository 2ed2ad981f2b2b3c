import { Command } from "effect/cli"
import { conformanceClientCommand } from "./conformance/clientCommand.ts"
import { conformanceProxyCommand } from "./conformance/proxyCommand.ts"
import { INTERRUPTED, MISUSED, withGuide } from "./help/Guide.ts"

export const conformanceCommand = Command.make("conformance").pipe(
  Command.withShortDescription("Test servers and clients of the protocol"),
  Command.withDescription(
    `For those who write a server or a client of the sealed completion protocol of their own: tries each against the rules of
docs/protocol, by their ids.`,
  ),
  Command.withExamples([
    { command: "sealgate conformance proxy http://localhost:3001 --pin <pin>", description: "A server" },
    { command: "sealgate conformance client -- python3 client.py {url} {pin}", description: "A client" },
  ]),
  withGuide({
    exits: { 0: "nothing failed", 1: "something failed", 2: MISUSED, 130: INTERRUPTED },
    next: "`sealgate conformance proxy --help` and `sealgate conformance client --help` say more.",
  }),
  Command.withSubcommands([conformanceProxyCommand, conformanceClientCommand]),
)
