import { Command } from "effect/cli"
import { idArgument, makeDeleteCommand } from "../itemCommands.ts"
import { makeListCommand } from "../listCommand.ts"
import { gatewayFlags, withGatewayHelp } from "../remote.ts"
import { changeCommand } from "./changeCommand.ts"
import { createCommand } from "./createCommand.ts"
import { askAndPrintKey, budgetsText, usedText } from "./keyText.ts"

const showCommand = Command.make("show", { id: idArgument("key"), ...gatewayFlags }, (input) =>
  askAndPrintKey(input, (gateway, options) => gateway.keys.get(input.id, options)),
).pipe(
  withGatewayHelp({
    summary: "Show what a key may do",
    description:
      "Shows a key's roles, what is spent and left of its budgets, other limits, last use and expiry, without its secret.",
    examples: [
      ["sealgate keys show 01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a", "For people"],
      ["sealgate keys show 01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a --json", "For programs"],
    ],
    next: "`sealgate keys change <id>` changes it.",
  }),
)

const revokeCommand = makeDeleteCommand("revoke", {
  kind: "key",
  done: "Revoked",
  summary: "Revoke a key",
  description:
    "Revokes a key for good: every gateway refuses it within a second. Its jobs continue, but its schedules create no more.",
  example: ["01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a", "Within a second, on every gateway of the database"],
  remove: (gateway, id, options) => gateway.keys.revoke(id, options),
})

export const keysCommand = makeListCommand("keys", {
  list: (gateway, at) => gateway.keys.list(at),
  none: "No keys yet: `sealgate keys create NAME` creates one.",
  columns: ["ID", "NAME", "ROLES", "BUDGETS", "USED", "EXPIRES"],
  row: (key, now) => [
    key.id,
    key.name,
    key.roles.join(", "),
    budgetsText(key),
    usedText(key, now),
    key.expires_at ?? "never",
  ],
  help: {
    summary: "List, create, change and revoke keys of a gateway",
    description: `Lists the keys of your tenant on a gateway, newest first. A key is a bearer token for a program or a person, with a role
and, if you want, budgets, models, agents, a rate and an expiry. Your token needs the role manage.`,
    examples: [
      ["sealgate keys", "The newest 20 on a gateway on this machine"],
      ["sealgate keys create ci --budget 5usd/day", "A key that may run tasks for at most $5 a day"],
      ["sealgate keys revoke 01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a", "Refuse it from now on"],
    ],
    next: "`sealgate audit` shows who made and changed keys. Keys for callers of a sealed proxy: `sealgate key`.",
  },
}).pipe(Command.withSubcommands([createCommand, showCommand, changeCommand, revokeCommand]))
