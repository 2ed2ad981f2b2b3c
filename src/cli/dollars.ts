/** `$0.001234`, and `$0.00` for what costs nothing; an unknown cost is called that. */
export const dollars = (microUsd: number | null | undefined): string => {
  if (microUsd == null) return "unknown"
  return microUsd === 0 ? "$0.00" : `${microUsd < 0 ? "-" : ""}$${(Math.abs(microUsd) / 1e6).toFixed(6)}`
}
