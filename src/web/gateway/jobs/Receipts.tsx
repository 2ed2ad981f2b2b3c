import type { Job, JobReceipt } from "../../../client/gateway/GatewayJobs.ts"
import { stepLabel } from "../../../domain/jobs/modes.ts"
import { parseStatement } from "../../../domain/protocol/statement.ts"
import { download } from "../../shared/download.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Problem } from "../View.tsx"

/** Text among the claims of a statement, which nothing here has verified. */
const claimOf = (statement: string, name: string): string => {
  const claims: unknown = parseStatement(statement)?.claims
  const value: unknown = typeof claims === "object" && claims !== null ? Reflect.get(claims, name) : undefined
  return typeof value === "string" ? value : "unknown"
}

const ReceiptItem = ({ job, receipt }: { readonly job: Job; readonly receipt: JobReceipt }) => {
  const step = job.steps.find(({ name }) => name === receipt.step)
  const label = step === undefined ? receipt.step : stepLabel(job.mode, step)
  const file = `receipt-${job.id}-${receipt.step}.json`
  return (
    <li class="item">
      <div class="item-main">
        <h4>{label}</h4>
        <p class="small">
          {claimOf(receipt.receipt, "model")} at {claimOf(receipt.receipt, "provider")}, signed by{" "}
          <code>{claimOf(receipt.receipt, "iss")}</code>
        </p>
      </div>
      <button type="button" onClick={() => download(file, JSON.stringify(receipt, undefined, 2))}>
        Download<span class="visually-hidden"> the receipt of {label}</span>
      </button>
    </li>
  )
}

/** What sealed proxies signed of the job's calls; nothing where it asked none. */
export const Receipts = ({ job }: { readonly job: Job }) => {
  const { gateway } = useSession()
  const { failure, reload, value } = useLoad((signal) => gateway.jobs.receipts(job.id, { signal }), [gateway, job.id])
  if (failure !== undefined) return <Problem failure={failure} onRetry={reload} />
  if (value === undefined || value.length === 0) return null
  return (
    <section class="card stack" aria-labelledby="receipts-title">
      <h3 id="receipts-title">Receipts</h3>
      <p class="small muted">
        Sealed proxies signed what they served. This page only shows it: <code>sealgate verify FILE --pin …</code>{" "}
        checks it against the key id that you believe.
      </p>
      <ul class="stack tight">
        {value.map((receipt) => (
          <ReceiptItem key={receipt.step} job={job} receipt={receipt} />
        ))}
      </ul>
    </section>
  )
}
