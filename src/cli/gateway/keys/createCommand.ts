import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CreateKey } from "../../../domain/access/keys.ts"
import { Role } from "../../../domain/access/roles.ts"
import { printableJson, printableLine } from "../../printable.ts"
import { ask, connect, gatewayFlags, withGatewayHelp } from "../remote.ts"
import { limitFlags, limitsOf } from "./keyFlags.ts"

export const createCommand = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(
      Argument.withDescription("Name of the key: the program or person that gets it"),
      Argument.withSchema(CreateKey.fields.name),
    ),
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDescription("What it may do; each role includes those before it (default run)"),
      Flag.withDefault("run" as const),
    ),
    ...limitFlags,
    ...gatewayFlags,
  },
  Effect.fn(function* (input) {
    const settings = { name: input.name, roles: [input.role], ...(yield* limitsOf(input)) }
    const gateway = yield* connect(input.gateway)
    const made = yield* ask((signal) => gateway.keys.create(settings, { signal }))
    yield* Console.log(input.json ? printableJson(made) : printableLine(made.key))
    yield* Console.error(
      `The key of ${printableLine(made.name)} is shown only this once: store it now. To revoke it: sealgate keys revoke ${printableLine(made.id)}`,
    )
  }),
).pipe(
  withGatewayHelp({
    summary: "Create a key",
    description: `Creates a key of your tenant for a program or a person, and prints its secret, once, alone on standard output. The gateway
keeps only a hash. Your token or key needs the role manage; for the role admin, admin.`,
    examples: [
      ["sealgate keys create ci --budget 5usd/day", "May run tasks for at most $5 a day"],
      ["sealgate keys create intern --allow-model '*mini*' --ttl 90d", "May use small models only, for 90 days"],
      ["sealgate keys create dashboard --role read --json", "For programs: the key with its settings"],
    ],
    exits: { 0: "the key was created" },
    next: "Its holder puts it into SEALGATE_TOKEN, or sends it as a bearer token. `sealgate keys show <id>` shows its limits.",
  }),
)
