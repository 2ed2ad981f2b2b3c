/** Formats amounts as US dollars, for the pages and the command. */

const MICRO = 1_000_000

/** Enough decimals to show the cost of a single call. */
const decimalsFor = (dollars: number): number => {
  if (dollars === 0 || dollars >= 1) return 2
  return dollars >= 0.01 ? 4 : 6
}

const written = (microUsd: number, decimals: number, most = decimals): string => {
  const dollars = Math.abs(microUsd) / MICRO
  const digits = dollars.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: most })
  return `${microUsd < 0 ? "−" : ""}$${digits}`
}

/** Formats an amount of micro-USD; an unknown amount is `unknown`, not 0. */
export const usd = (microUsd: number | null | undefined): string =>
  microUsd == null ? "unknown" : written(microUsd, decimalsFor(Math.abs(microUsd) / MICRO))

/** Formats a chosen amount, such as a limit, without trailing zeros beyond cents. */
export const usdPlain = (microUsd: number): string => written(microUsd, 2, 6)

/** Formats an amount to the micro-USD, for tables. */
export const usdExact = (microUsd: number): string => written(microUsd, 6)
