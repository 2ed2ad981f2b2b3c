import type { AuditAction } from "../../../domain/access/audit.ts"
import { Ago, useNow } from "../../shared/Ago.tsx"
import { Table } from "../../shared/Table.tsx"
import { CopyableId } from "../../shared/Copy.tsx"
import { shortId } from "../../shared/format.ts"
import { Pager } from "../../shared/Pager.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { usePages } from "../usePages.ts"
import { Empty, Unloaded, View } from "../View.tsx"

const PAGE = 50
/** Length of an id; versions of the routing are shorter. */
const ID = 36

const WORDS = {
  "key.create": "created the key",
  "key.update": "changed the key",
  "key.revoke": "revoked the key",
  "agent.create": "created the agent",
  "agent.update": "changed the agent",
  "agent.remove": "deleted the agent",
  "job.cancel": "cancelled the job",
  "job.remove": "deleted the job",
  "thread.remove": "deleted the thread",
  "schedule.create": "made the schedule",
  "schedule.remove": "deleted the schedule",
  "job.resume": "resumed the job",
  "job.input": "answered the question of the job",
  "webhooks.secret": "replaced the secret of webhooks of the tenant",
  "budgets.put": "changed the budgets of the tenant",
  "secret.put": "set the secret",
  "secret.remove": "removed the secret",
  "routing.put": "changed the routing to version",
} as const satisfies Record<AuditAction, string>

export const AuditView = () => {
  const { gateway } = useSession()
  const now = useNow(30_000)
  const pages = usePages((at) => gateway.audit.list({ limit: PAGE, ...at }), [gateway])
  const { items: entries } = pages
  return (
    <View
      title="Audit trail"
      actions={
        <a class="button" href={hrefOf({ view: "keys" })}>
          Keys
        </a>
      }
    >
      <Unloaded loaded={pages} what="the audit trail" />
      {pages.value !== undefined && entries.length === 0 && (
        <Empty title="No changes yet.">Changes of keys, agents, jobs and the routing appear here.</Empty>
      )}
      {entries.length > 0 && (
        <div class="card" aria-busy={pages.busy}>
          <Table label="Table of changes" class="rows" columns={["When", "Tenant", "Who", "Did what"]}>
            {entries.map(({ action, at, id, key_id, subject, target, tenant }) => (
              <tr key={id}>
                <td>
                  <Ago time={at} now={now} />
                </td>
                <td>{tenant}</td>
                <td>
                  {subject}
                  {key_id !== null && <span class="muted"> (key {shortId(key_id)})</span>}
                </td>
                <td>
                  {WORDS[action]}{" "}
                  {target.length === ID ? (
                    <CopyableId id={target} shown={shortId(target)} what="id" />
                  ) : (
                    <code>{target}</code>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </div>
      )}
      <Pager pages={pages} />
    </View>
  )
}
