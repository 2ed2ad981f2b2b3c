import { weightsIn } from "../shared/weights.ts"

/** Whether an `Accept` header prefers CSV to JSON (RFC 9110 §12.5.1). JSON is the default, also for wildcards. */
export const prefersCsv = (accept: string | undefined): boolean => {
  const weights = weightsIn(accept)
  const csv = weights.get("text/csv") ?? 0
  return csv > 0 && csv >= (weights.get("application/json") ?? 0)
}
