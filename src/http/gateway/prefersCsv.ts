/** Whether an `Accept` header prefers CSV to JSON (RFC 9110 §12.5.1). JSON is the default, also for wildcards. */
export const prefersCsv = (accept = ""): boolean => {
  const weights = new Map(
    accept.split(",").map((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
      return [type, weight === undefined ? 1 : Number(weight) || 0] as const
    }),
  )
  const csv = weights.get("text/csv") ?? 0
  return csv > 0 && csv >= (weights.get("application/json") ?? 0)
}
