import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { KeyChange } from "../../../client/gateway/GatewayKeys.ts"
import { CreateKey } from "../../../domain/access/keys.ts"
import { Role } from "../../../domain/access/roles.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import { unusable } from "../../CommandFailed.ts"
import { optionalFlag } from "../../flags.ts"
import { idArgument } from "../itemCommands.ts"
import { gatewayFlags, withGatewayHelp } from "../remote.ts"
import { limitFlags, limitsOf } from "./keyFlags.ts"
import { askAndPrintKey } from "./keyText.ts"

/** The limits by the words of `--remove`, and their members in the API. */
const REMOVABLE = {
  budgets: "budgets",
  models: "models",
  agents: "agents",
  rate: "requests_per_minute",
  weight: "weight",
  jobs: "max_running_jobs",
  calls: "max_calls_in_flight",
  expiry: "expires_at",
} as const satisfies Record<string, keyof KeyChange>

export const changeCommand = Command.make(
  "change",
  {
    id: idArgument("key"),
    name: optionalFlag("name", "text", "A new name", CreateKey.fields.name),
    role: Flag.Literals("role", Role.literals).pipe(Flag.withDescription("A new role"), Flag.optional),
    ...limitFlags,
    remove: Flag.Literals("remove", ["budgets", "models", "agents", "rate", "weight", "jobs", "calls", "expiry"]).pipe(
      Flag.withDescription("Removes a limit; may be repeated"),
      Flag.atLeast(0),
    ),
    ...gatewayFlags,
  },
  Effect.fn(function* (input) {
    const given = withoutUndefined({
      name: Option.getOrUndefined(input.name),
      roles: Option.getOrUndefined(Option.map(input.role, (role) => [role])),
      ...(yield* limitsOf(input)),
    })
    const clash = input.remove.find((limit) => REMOVABLE[limit] in given)
    if (clash !== undefined) return yield* unusable(`--remove ${clash} contradicts the new ${clash}: give one of them.`)
    const removed = Object.fromEntries(input.remove.map((limit) => [REMOVABLE[limit], null]))
    const change: KeyChange = { ...given, ...removed }
    if (Object.keys(change).length === 0) {
      return yield* unusable("Nothing to change: give a new value, such as --budget 5usd/day, or --remove budgets.")
    }
    yield* askAndPrintKey(input, (gateway, options) => gateway.keys.update(input.id, change, options))
  }),
).pipe(
  withGatewayHelp({
    summary: "Change a key",
    description: `Changes what a key may do, within a second; --max-running-jobs holds also for its open jobs. A given limit
replaces the one of its kind: --budget all budgets, --allow-model and --deny-model both lists. The secret stays.`,
    examples: [
      ["sealgate keys change 01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a --budget 20usd/day", "A larger budget"],
      ["sealgate keys change 01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a --remove expiry", "Valid until it is revoked"],
    ],
    exits: { 0: "the key was changed" },
  }),
)
