/** `$0.001234`; an unknown cost is called that, never nothing. */
export const dollars = (microUsd: number | null | undefined): string =>
  microUsd == null ? "unknown" : `${microUsd < 0 ? "-" : ""}$${(Math.abs(microUsd) / 1e6).toFixed(6)}`
