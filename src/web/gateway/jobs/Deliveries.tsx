import type { Delivery, Job } from "../../../client/gateway/GatewayJobs.ts"
import { Table } from "../../shared/Table.tsx"
import { moment } from "../../shared/format.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Problem } from "../View.tsx"
import { Badge, type BadgeStyle } from "./badges.tsx"

/** Receivers answer late, and failed deliveries are repeated. */
const EVERY_MS = 5000

const STATES = {
  pending: { word: "pending", mark: "◐", tone: "warn" },
  delivered: { word: "delivered", mark: "✓", tone: "good" },
  failed: { word: "given up", mark: "✕", tone: "bad" },
} as const satisfies Record<Delivery["status"], BadgeStyle>

const EVENTS = {
  "job.ended": "the job ended",
  "job.input_required": "it waits for a person",
} as const satisfies Record<Delivery["event"], string>

/** The webhooks of a job and what became of them; nothing if it has none. */
export const Deliveries = ({ job }: { readonly job: Job }) => {
  const { gateway } = useSession()
  const { failure, reload, value } = useLoad(
    (signal) => gateway.jobs.deliveries(job.id, { signal }),
    [gateway, job.id, job.status],
    { every: EVERY_MS },
  )
  if (failure !== undefined) return <Problem failure={failure} onRetry={reload} />
  if (value === undefined || value.length === 0) return null
  return (
    <section class="card stack tight" aria-labelledby="deliveries-title">
      <h3 id="deliveries-title">Webhooks</h3>
      <Table label="Table of webhooks" columns={["State", "Because", "To", ["Attempts", "number"]]}>
        {value.map(({ attempts, created_at, event, id, last_failure, next_attempt_at, status, url }) => (
          <tr key={id}>
            <td>
              <Badge look={STATES[status]} />
            </td>
            <td>
              {EVENTS[event]}
              <span class="small muted block">{moment(created_at)}</span>
            </td>
            <td>
              <code>{url}</code>
              {last_failure !== undefined && status !== "delivered" && (
                <span class="small why block">{last_failure}</span>
              )}
              {next_attempt_at !== undefined && attempts > 0 && (
                <span class="small muted block">Next attempt at {moment(next_attempt_at)}</span>
              )}
            </td>
            <td class="number">{attempts}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}
