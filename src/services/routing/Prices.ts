/** Prices of models: the operator's if set, else the shipped list price, else unknown. */
import { createHash } from "node:crypto"
import { DateTime } from "effect"
import type { Prices } from "../../domain/routing/money.ts"
import type { EffectivePrice, RoutingSettings } from "../../domain/routing/routing.ts"
import { nameOf, sameTarget, type TargetName } from "../../domain/upstream/targets.ts"
import type { Offers } from "../upstream/Upstream.ts"
import { PROVIDER_IDS } from "../upstream/Slots.ts"
import { LIST_PRICES, type ListPrice, PRICE_TABLE } from "./PriceTable.ts"

/** A price and its source; `version` goes into the ledger. */
interface PriceQuote {
  readonly prices: Prices
  readonly version: string
  readonly as_of?: string
  readonly source: string
}

/** `-2026-09-29` or `-20260929` at the end of a model's name: a dated snapshot at the same price. */
const SNAPSHOT = /-(\d{4}-\d{2}-\d{2}|\d{8})$/

const microUsd = (usd: number): number => Math.round(usd * 1_000_000)

const rates = ([input, output, cached]: ListPrice["usd"], cacheWrites: ListPrice["cacheWrites"]) => ({
  input: microUsd(input),
  output: microUsd(output),
  cached_input: microUsd(cached),
  ...(cacheWrites !== undefined && {
    cache_write_input: microUsd(input * cacheWrites[0]),
    cache_write_1h_input: microUsd(input * cacheWrites[1]),
  }),
})

const toPrices = ({ above, cacheWrites, usd }: ListPrice): Prices => ({
  ...rates(usd, cacheWrites),
  ...(above !== undefined && { long_context: { above_input_tokens: above[0], ...rates(above[1], cacheWrites) } }),
})

const dayOf = (at: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(at))

const quoteOf = (row: ListPrice): PriceQuote => ({
  prices: toPrices(row),
  version: PRICE_TABLE.version,
  as_of: row.as_of,
  source: row.source,
})

const byModel = Map.groupBy(
  LIST_PRICES.map((row) => ({ ...row, quote: quoteOf(row) })),
  (row): string => row.model,
)

/** The rows of a model, snapshots included. */
const rowsOf = (model: string) => byModel.get(model) ?? byModel.get(model.replace(SNAPSHOT, "")) ?? []

/** Echo is free under any model name. */
const ECHO_PRICE: PriceQuote = {
  prices: { input: 0, output: 0, cached_input: 0 },
  version: PRICE_TABLE.version,
  source: "built in",
}
const ECHO_CONTEXT_TOKENS = 1_000_000

/** The longest input of a model in tokens, if known. */
export const contextOf = ({ model, provider }: TargetName): number | undefined =>
  provider === "echo" ? ECHO_CONTEXT_TOKENS : rowsOf(model)[0]?.context

/** The shipped price of a target on the day of `at` (milliseconds since the epoch), `null` if there is none. */
export const shippedPrice = (target: TargetName, at: number): PriceQuote | null => {
  if (target.provider === "echo") return ECHO_PRICE
  // List prices are those of the vendors. A server of the operator's file may charge other prices.
  if (!PROVIDER_IDS.has(target.provider)) return null
  return rowsOf(target.model).findLast(({ from }) => from === undefined || from <= dayOf(at))?.quote ?? null
}

/** The prices that the file of providers gives models, by {@link nameOf}. */
type OfferedPrices = ReadonlyMap<string, Pick<PriceQuote, "prices" | "version">>

/** The sources of prices: the routing configuration and the file of providers. */
export type PricedBy = Pick<RoutingSettings, "targets" | "version"> & {
  readonly offered?: OfferedPrices
}

const ownPrices = new WeakMap<PricedBy["targets"], ReadonlyMap<string, Prices | undefined>>()

/** The prices that the routing configuration sets, computed once: a list of hundreds of targets is priced for every call. */
const ownPriceOf = ({ targets }: PricedBy, target: TargetName): Prices | undefined => {
  let computed = ownPrices.get(targets)
  if (computed === undefined) {
    computed = new Map(targets.map((own) => [nameOf(own), own.prices]))
    ownPrices.set(targets, computed)
  }
  return computed.get(nameOf(target))
}

const known = new WeakMap<ReadonlyArray<Offers>, OfferedPrices>()

/** The prices that providers of the file offer, computed once; a version is a hash of the prices. */
export const offeredPrices = (offering: ReadonlyArray<Offers>): OfferedPrices => {
  const computed =
    known.get(offering) ??
    new Map(
      offering.flatMap(({ offers, provider }) =>
        offers.flatMap(({ name: model, prices }) =>
          prices === undefined ? [] : [[nameOf({ provider, model }), { prices, version: versionOf(prices) }] as const],
        ),
      ),
    )
  known.set(offering, computed)
  return computed
}

const versionOf = (prices: Prices): string =>
  `file-${createHash("sha256").update(JSON.stringify(prices)).digest("hex").slice(0, 12)}`

/**
 * The price of calls to `target` at `at`. `served` is the model that answered, if any: a provider may answer with
 * another model (which has its own price) or with an unknown one (the requested model's price applies).
 */
export const priceOf = (
  settings: PricedBy,
  target: TargetName,
  at: number,
  served: string | null = null,
): PriceQuote | null => {
  const own = ownPriceOf(settings, target)
  if (own !== undefined) {
    return { prices: own, version: `config-${settings.version}`, source: "routing configuration" }
  }
  const offered = settings.offered?.get(nameOf(target))
  if (offered !== undefined) return { ...offered, source: "PROVIDERS_FILE" }
  return (
    (served === null ? null : shippedPrice({ provider: target.provider, model: served }, at)) ??
    shippedPrice(target, at)
  )
}

/** The prices of every target and the baseline at `at`, with date and source of shipped prices. */
export const effectivePrices = (
  settings: PricedBy & Pick<RoutingSettings, "baseline">,
  at: number,
): ReadonlyArray<EffectivePrice> => {
  const { baseline, targets } = settings
  const all = targets.some((target) => sameTarget(target, baseline)) ? targets : [...targets, baseline]
  return all.map(({ model, provider }) => {
    const quote = priceOf(settings, { provider, model }, at)
    if (quote === null) return { provider, model, prices: null }
    const { version: _, ...price } = quote
    return { provider, model, ...price }
  })
}
