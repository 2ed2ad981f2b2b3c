import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { withHelp } from "../help/Guide.ts"
import { printableJson } from "../printable.ts"
import { table } from "../table.ts"
import { json, limitFlag } from "./listFlags.ts"
import { connect, ENVIRONMENT, EXITS, gatewayFlag, listFirst } from "./remote.ts"

export const auditCommand = Command.make(
  "audit",
  { gateway: gatewayFlag, limit: limitFlag, json },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const items = yield* listFirst(input.limit, (at) => gateway.audit.list(at))
    if (input.json) return yield* Console.log(printableJson(items))
    if (items.length === 0) return yield* Console.log("No changes yet.")
    yield* Console.log(
      table([
        ["TIME", "TENANT", "BY", "ACTION", "TARGET"],
        ...items.map(({ action, at, subject, target, tenant }) => [at, tenant, subject, action, target]),
      ]),
    )
  }),
).pipe(
  withHelp({
    summary: "Show who changed what on a gateway",
    description: `Lists changes of keys, agents, jobs and routing of all tenants, newest first: when, in which tenant, by whom, and the id of
what was changed. For administrators.`,
    examples: [
      ["sealgate audit", "The newest 20 changes"],
      ["sealgate audit --limit 100 --json", "For programs: with the id of the key that made the change"],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
  }),
)
