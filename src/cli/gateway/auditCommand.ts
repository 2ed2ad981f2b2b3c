import { makeListCommand } from "./listCommand.ts"

export const auditCommand = makeListCommand("audit", {
  list: (gateway, at) => gateway.audit.list(at),
  none: "No changes yet.",
  columns: ["TIME", "TENANT", "BY", "ACTION", "TARGET"],
  row: ({ action, at, subject, target, tenant }) => [at, tenant, subject, action, target],
  help: {
    summary: "Show who changed what on a gateway",
    description: `Lists changes of keys, agents, jobs and routing of all tenants, newest first: when, in which tenant, by whom, and the id of
what was changed. For administrators.`,
    examples: [
      ["sealgate audit", "The newest 20 changes"],
      ["sealgate audit --limit 100 --json", "For programs: with the id of the key that made the change"],
    ],
  },
})
