/** How amounts are written for people, on the pages and by the command: US dollars, a point for decimals. */

const MICRO = 1_000_000

/** Enough decimals to see what a single call costs, and no more than that. */
const decimalsFor = (dollars: number): number => {
  if (dollars === 0 || dollars >= 1) return 2
  return dollars >= 0.01 ? 4 : 6
}

const written = (microUsd: number, decimals: number, most = decimals): string => {
  const dollars = Math.abs(microUsd) / MICRO
  const digits = dollars.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: most })
  return `${microUsd < 0 ? "−" : ""}$${digits}`
}

/** An amount of micro-USD to read; what is not known is called that, never nothing. */
export const usd = (microUsd: number | null | undefined): string =>
  microUsd == null ? "unknown" : written(microUsd, decimalsFor(Math.abs(microUsd) / MICRO))

/** An amount that somebody chose, as they would write it. */
export const usdPlain = (microUsd: number): string => written(microUsd, 2, 6)

/** An amount to the last micro-USD, for tables of figures. */
export const usdExact = (microUsd: number): string => written(microUsd, 6)
