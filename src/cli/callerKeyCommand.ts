import { Console, Effect, Redacted } from "effect"
import { Argument, Command } from "effect/cli"
import { CallerName, newCallerKey } from "../services/access/CallerKeys.ts"
import { jsonFlag } from "./flags.ts"
import { INTERRUPTED, MISUSED, withGuide } from "./help/Guide.ts"

const newCommand = Command.make(
  "new",
  {
    name: Argument.String("name").pipe(
      Argument.withDescription("Whom the key is for; requests are counted by this name"),
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
        : `The key of ${name}, which is shown this once and kept nowhere:\n${key}\n\nThe line for the proxy's CALLER_KEYS_FILE:\n${line}`,
    )
  }),
).pipe(
  Command.withShortDescription("Make a key for a caller"),
  Command.withDescription(
    `Makes a key with which somebody may use a proxy, and prints it once, together with the line for the proxy's file of
callers (CALLER_KEYS_FILE), which holds a hash and not the key. For operators.`,
  ),
  Command.withExamples([
    { command: "sealgate key new alice", description: "A key for alice" },
    { command: "sealgate key new ci --json", description: "For programs: name, key and line as JSON" },
  ]),
  withGuide({
    exits: { 0: "the key was printed", 1: "it could not be printed", 2: MISUSED, 130: INTERRUPTED },
    next:
      "Add the line to the file: a proxy reads it again within seconds, and forgets whoever is no longer in it. Give the key to its " +
      "caller over a channel that both trust; `sealgate chat` and `connect` take it from SEALGATE_CREDENTIAL or --credential-file.",
  }),
)

export const callerKeyCommand = Command.make("key").pipe(
  Command.withShortDescription("Make keys for the callers of a proxy"),
  Command.withDescription(
    `Keys with which callers may use a proxy, for operators. A proxy that has a file of them (CALLER_KEYS_FILE) serves nobody
else, and counts requests by caller.`,
  ),
  Command.withExamples([{ command: "sealgate key new alice", description: "A key for alice" }]),
  withGuide({
    exits: { 0: "done", 1: "it was tried and is not well", 2: MISUSED, 130: INTERRUPTED },
    next: "`sealgate key new --help` says more.",
  }),
  Command.withSubcommands([newCommand]),
)
