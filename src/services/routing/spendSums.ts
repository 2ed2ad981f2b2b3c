/** The rows that calls add to `ledger_spend_new`. */
import { Record } from "effect"
import { sumOf } from "../../domain/routing/money.ts"
import { ANSWERED, type CallRecord } from "./CallRecord.ts"
import { HOUR_MS } from "./HourlySums.ts"

/**
 * Limit of label values summed per tenant, day and process, because each call may bring a new one. Others count in
 * totals only.
 */
export const MAX_LABEL_VALUES = 1000

export const NO_SPEND = {
  calls: 0,
  failed: 0,
  unpriced: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cost: 0,
}
type Sums = typeof NO_SPEND

export const SPEND_SUMS = Record.keys(NO_SPEND)

export const SPEND_COLUMNS = {
  tenant: "TEXT",
  kind: "TEXT",
  hour: "BIGINT",
  value: "TEXT",
  writer: "BIGINT",
  ...Record.map(NO_SPEND, () => "BIGINT" as const),
} as const

const sumsOf = ({ cost, outcome, tokens }: CallRecord): Sums => ({
  calls: 1,
  failed: ANSWERED.includes(outcome) ? 0 : 1,
  unpriced: cost === null ? 1 : 0,
  input_tokens: tokens?.input ?? 0,
  output_tokens: tokens?.output ?? 0,
  cached_tokens: tokens?.cached ?? 0,
  cost: cost ?? 0,
})

/** The groups of a call, as pairs of kind and value. Every call has a model, so models add up to the total. */
const groupsOf = ({ agent, key, labels, model, provider }: CallRecord): ReadonlyArray<readonly [string, string]> => [
  ["model", `${provider}/${model}`],
  ...(key === null ? [] : [["key", key] as const]),
  ...(agent === null ? [] : [["agent", agent] as const]),
  ...Record.toEntries(labels).map(([name, value]) => [`label:${name}`, value] as const),
]

/** Returns a function from calls to their rows, sorted by key, so that writers lock them in one order. */
export const makeSpendSums = () => {
  const isSummed = makeLabelLimit()
  return (rows: ReadonlyArray<CallRecord>) =>
    summed(
      rows.flatMap((row) => {
        const sums = sumsOf(row)
        const hour = Math.floor(row.at / HOUR_MS)
        return groupsOf(row)
          .filter(([kind, value]) => !kind.startsWith("label:") || isSummed(row, `${kind}=${value}`))
          .map(([kind, value]) => [{ tenant: row.tenant, kind, hour, value }, sums] as const)
      }),
    ).map(([key, sums]) => ({ ...key, ...sums }))
}

/** Adds up the sums of each key. Sorted by key. */
const summed = <Key extends object>(
  parts: ReadonlyArray<readonly [Key, Sums]>,
): ReadonlyArray<readonly [Key, Sums]> => {
  const all = new Map<string, readonly [Key, Sums]>()
  for (const [key, sums] of parts) {
    const text = JSON.stringify(Object.values(key))
    const [, before = NO_SPEND] = all.get(text) ?? []
    all.set(text, [key, Record.map(sums, (sum, name) => sumOf(sum, before[name]))])
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)
}

/** Admits the first labels of each tenant in each day, up to the limit. */
const makeLabelLimit = () => {
  const known = new Map<number, Map<string, Set<string>>>()
  return ({ at, tenant }: CallRecord, label: string): boolean => {
    const day = Math.floor(at / (24 * HOUR_MS))
    const ofDay = known.get(day) ?? new Map<string, Set<string>>()
    known.set(day, ofDay)
    // Around midnight, calls of two days come mixed.
    if (known.size > 2) for (const first of known.keys().take(1)) known.delete(first)
    const labels = ofDay.get(tenant) ?? new Set()
    ofDay.set(tenant, labels)
    if (labels.size < MAX_LABEL_VALUES) labels.add(label)
    return labels.has(label)
  }
}
