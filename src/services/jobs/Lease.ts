import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Agent } from "../../domain/jobs/agent.ts"
import { thisMoment } from "../moments.ts"
import type { WorkRow } from "./JobRows.ts"

/** A job that this process works on. */
export interface Lease {
  readonly job: Omit<WorkRow, "agent"> & { readonly agent: Agent }
  /** Every write to the job demands this token. */
  readonly token: string
  /** Moment (see `moments.ts`) at which this worker began. */
  readonly since: number
  /** The stored outcomes of finished steps as JSON, by name. */
  readonly finished: ReadonlyMap<string, string>
}

/** SQL condition: the row is the lease's job, and still held. */
export const heldBy = (sql: SqlClient.SqlClient, { job, token }: Lease) =>
  sql`id = ${job.id} AND status = 'running' AND lease = ${token}`

/** Like `heldBy`, for leases in the rows of `given`. */
export const HELD_BY_GIVEN = "jobs.id = given.job_id AND jobs.status = 'running' AND jobs.lease = given.lease"

/** Milliseconds that workers have spent on the job, this one included. */
export const ranMs = ({ job, since }: Lease) =>
  Effect.map(thisMoment, (moment) => job.ran_ms + Math.max(0, Math.round(moment - since)))
