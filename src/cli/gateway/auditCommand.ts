import { Effect } from "effect"
import { Command } from "effect/cli"
import { json, limitFlag } from "./listFlags.ts"
import { printList } from "./printList.ts"
import { connect, gatewayFlag, listFirst, withGatewayHelp } from "./remote.ts"

export const auditCommand = Command.make(
  "audit",
  { gateway: gatewayFlag, limit: limitFlag, json },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const items = yield* listFirst(input.limit, (at) => gateway.audit.list(at))
    yield* printList(items, {
      json: input.json,
      none: "No changes yet.",
      columns: ["TIME", "TENANT", "BY", "ACTION", "TARGET"],
      row: ({ action, at, subject, target, tenant }) => [at, tenant, subject, action, target],
    })
  }),
).pipe(
  withGatewayHelp({
    summary: "Show who changed what on a gateway",
    description: `Lists changes of keys, agents, jobs and routing of all tenants, newest first: when, in which tenant, by whom, and the id of
what was changed. For administrators.`,
    examples: [
      ["sealgate audit", "The newest 20 changes"],
      ["sealgate audit --limit 100 --json", "For programs: with the id of the key that made the change"],
    ],
  }),
)
