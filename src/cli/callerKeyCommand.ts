import { Console, Effect, Redacted } from "effect"
import { Argument, Command } from "effect/cli"
import { CallerName, newCallerKey } from "../services/access/CallerKeys.ts"
import { jsonFlag } from "./flags.ts"
import { withHelp } from "./help/Guide.ts"

const newCommand = Command.make(
  "new",
  {
    name: Argument.String("name").pipe(
      Argument.withDescription("Name of the caller; requests are counted by it"),
      Argument.withSchema(CallerName),
    ),
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* ({ json, name }) {
    const { key: secret, line } = newCallerKey(name)
    const key = Redacted.value(secret)
    yield* Console.log(
      json
        ? JSON.stringify({ name, key, line })
        : `The key of ${name}, shown once and stored nowhere:\n${key}\n\nThe line for the proxy's CALLER_KEYS_FILE:\n${line}`,
    )
  }),
).pipe(
  withHelp({
    summary: "Create a key for a caller",
    description: `Creates a caller's key for a proxy and prints it once, with the line for the proxy's file of callers
(CALLER_KEYS_FILE). The line holds a hash of the key. For operators.`,
    examples: [
      ["sealgate key new alice", "A key for alice"],
      ["sealgate key new ci --json", "For programs: name, key and line as JSON"],
    ],
    exits: { 0: "the key was printed", 1: "the key could not be printed" },
    next:
      "Add the line to the file; the proxy rereads it within seconds and refuses callers that were removed. Give the key to the " +
      "caller over a trusted channel; `sealgate chat` and `connect` read it from SEALGATE_CREDENTIAL or --credential-file.",
  }),
)

export const callerKeyCommand = Command.make("key").pipe(
  withHelp({
    summary: "Create keys for the callers of a proxy",
    description: `Manages the keys of a proxy's callers, for operators. A proxy with a file of callers (CALLER_KEYS_FILE) serves only them
and counts requests by caller.`,
    examples: [
      ["sealgate key new alice", "A key for alice"],
      ["sealgate key new ci --json", "For programs"],
    ],
    next: "See `sealgate key new --help`.",
  }),
  Command.withSubcommands([newCommand]),
)
