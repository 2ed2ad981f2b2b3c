/** What a model costs: the operator's price if there is one, else the shipped list price, else unknown. */
import { DateTime } from "effect"
import type { Prices } from "../../domain/money.ts"
import type { RoutingSettings } from "../../domain/routing.ts"
import { sameTarget, type TargetName } from "../../domain/targets.ts"
import { LIST_PRICES, type ListPrice, PRICE_TABLE } from "./PriceTable.ts"

/** A price, and where it comes from; `version` goes into the ledger. */
export interface PriceQuote {
  readonly prices: Prices
  readonly version: string
  readonly as_of?: string
  readonly source: string
}

/** `-2026-09-29` or `-20260929` at the end of a model's name: a dated snapshot of it, at the same price. */
const SNAPSHOT = /-(\d{4}-\d{2}-\d{2}|\d{8})$/

const microUsd = (usd: number): number => Math.round(usd * 1_000_000)

const toPrices = ({ above, usd: [input, output, cached] }: ListPrice): Prices => ({
  input: microUsd(input),
  output: microUsd(output),
  cached_input: microUsd(cached),
  ...(above === undefined
    ? {}
    : {
        long_context: {
          above_input_tokens: above[0],
          input: microUsd(above[1][0]),
          output: microUsd(above[1][1]),
          cached_input: microUsd(above[1][2]),
        },
      }),
})

const byModel = Map.groupBy(LIST_PRICES, (row) => row.model)

/** The rows of a model, its snapshots included. Echo costs nothing whatever model it is asked to play. */
const rowsOf = (target: TargetName): ReadonlyArray<ListPrice> => {
  const model = target.provider === "echo" ? ECHO : target.model
  const rows = byModel.get(model) ?? byModel.get(model.replace(SNAPSHOT, "")) ?? []
  return rows.filter(({ provider }) => provider === undefined || provider === target.provider)
}
const ECHO = "echo-1"

/** The longest input of a model in tokens, where it is known. */
export const contextOf = (target: TargetName): number | undefined => rowsOf(target)[0]?.context

/** The shipped price of a target on the day of `at` (milliseconds since the epoch), `null` if there is none. */
export const shippedPrice = (target: TargetName, at: number): PriceQuote | null => {
  const day = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(at))
  const row = rowsOf(target).findLast(({ from }) => from === undefined || from <= day)
  if (row === undefined) return null
  return { prices: toPrices(row), version: PRICE_TABLE.version, as_of: row.as_of, source: row.source }
}

/**
 * What calls to `target` cost at `at`. `served` is the model that answered, where one did: a provider may answer with
 * another model than it was asked for (its own price), or with one that no one knows (the price of what was asked for).
 */
export const priceOf = (
  settings: Pick<RoutingSettings, "targets" | "version">,
  target: TargetName,
  at: number,
  served: string | null = null,
): PriceQuote | null => {
  const own = settings.targets.find((candidate) => sameTarget(candidate, target))
  if (own?.prices !== undefined) {
    return { prices: own.prices, version: `config-${settings.version}`, source: "routing configuration" }
  }
  return (
    (served === null ? null : shippedPrice({ provider: target.provider, model: served }, at)) ??
    shippedPrice(target, at)
  )
}
