/** The default routing, derived from the configured providers without calling any. */
import { Duration } from "effect"
import type { RoutingSettings, Target } from "../../domain/routing/routing.ts"
import type { Offers } from "../upstream/Upstream.ts"
import type { UpstreamSettings } from "../upstream/UpstreamSettings.ts"
import { contextOf, offeredPrices, priceOf } from "./Prices.ts"

/** The context assumed for unknown models: most current ones accept it. */
const DEFAULT_CONTEXT_TOKENS = 128_000

/**
 * A target for each model that a provider offers, in the providers' order. Prefers the cheapest if all have a price, else
 * follows the order. The baseline is the first target with a price, or else the first: without routing it would have served
 * everything.
 */
export const defaultSettings = (
  offering: ReadonlyArray<Offers>,
  upstream: UpstreamSettings,
  now: number,
): RoutingSettings => {
  const targets = offering.flatMap(({ offers, provider }) =>
    offers.map(({ max_context_tokens, name }): Target => ({
      provider,
      model: name,
      max_context_tokens: max_context_tokens ?? contextOf({ provider, model: name }) ?? DEFAULT_CONTEXT_TOKENS,
    })),
  )
  const pricedBy = { targets: [], version: 0, offered: offeredPrices(offering) }
  const priced = targets.filter((target) => priceOf(pricedBy, target, now) !== null)
  const baseline = priced[0] ?? targets[0] ?? { provider: "echo", model: "echo-1" }
  return {
    version: 0,
    strategy: priced.length === targets.length ? "cost" : "fallback",
    baseline: { provider: baseline.provider, model: baseline.model },
    targets,
    retry: {
      max_retries: upstream.retry.times,
      base_delay_ms: Duration.toMillis(upstream.retry.base),
      max_delay_ms: Duration.toMillis(upstream.retry.cap),
    },
    breaker: {
      failure_threshold: upstream.circuit.failures,
      open_ms: Duration.toMillis(upstream.circuit.open),
    },
    timeouts: {
      first_token_ms: Duration.toMillis(upstream.timeouts.firstToken),
      idle_ms: Duration.toMillis(upstream.timeouts.idle),
      total_ms: Duration.toMillis(upstream.timeouts.total),
    },
  }
}

/** The fault policy of `settings`; the rest stays as in `base`. */
export const faultPolicyOf = (
  base: UpstreamSettings,
  { breaker, retry, timeouts }: Pick<RoutingSettings, "breaker" | "retry" | "timeouts">,
): UpstreamSettings => ({
  ...base,
  timeouts: {
    ...base.timeouts,
    firstToken: Duration.millis(timeouts.first_token_ms),
    idle: Duration.millis(timeouts.idle_ms),
    total: Duration.millis(timeouts.total_ms),
  },
  retry: {
    ...base.retry,
    times: retry.max_retries,
    base: Duration.millis(retry.base_delay_ms),
    cap: Duration.millis(retry.max_delay_ms),
  },
  circuit: { ...base.circuit, failures: breaker.failure_threshold, open: Duration.millis(breaker.open_ms) },
})
