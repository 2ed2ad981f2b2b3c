import type { Agent } from "../../domain/jobs/agent.ts"
import type { WorkRow } from "./JobRows.ts"

/** A job that this process works on. */
export interface Lease {
  readonly job: Omit<WorkRow, "agent"> & { readonly agent: Agent }
  /** Only its holder writes to the job. */
  readonly token: string
  /** When this worker began, as `moments.ts` has it. */
  readonly since: number
  /** The stored outcomes, JSON, of the steps that have finished, by name. */
  readonly finished: ReadonlyMap<string, string>
}
