/**
 * What is counted about provider calls. Labels have few values: a model is named only if it is configured or has
 * served (see `TargetBook`), everything else is from closed lists.
 */
import { Effect, Metric } from "effect"
import type { Attempt, ProviderId, UpstreamCode } from "../../domain/upstream.ts"

/** Upper bounds in seconds. Answers of language models take from a tenth of a second to ten minutes. */
const LATENCY_BOUNDARIES = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600]

/** Calls to providers by `provider`, `model` and `outcome` (`success`, `interrupted` or the kind of failure). */
const upstreamCalls = Metric.counter("sealgate_upstream_calls_total", {
  description: "Calls to model providers by outcome, retries and failovers included.",
  incremental: true,
})

/** Failed calls by `provider` and `kind`. */
const upstreamErrors = Metric.counter("sealgate_upstream_errors_total", {
  description: "Failed calls to model providers by kind of failure.",
  incremental: true,
})

/** Calls made to a target that had just failed, by `provider`. */
const upstreamRetries = Metric.counter("sealgate_upstream_retries_total", {
  description: "Calls that tried the same target again.",
  incremental: true,
})

/** Calls made because another target did not serve, by the `provider` that took over. */
const upstreamFailovers = Metric.counter("sealgate_upstream_failovers_total", {
  description: "Calls that took over from another target.",
  incremental: true,
})

/** Targets passed over without a call, by `provider` and `reason` (`circuit` or `bulkhead`). */
const upstreamSkips = Metric.counter("sealgate_upstream_skips_total", {
  description: "Targets passed over without a call, because their circuit was open or no place was free.",
  incremental: true,
})

/** Requests that no target served, by the `code` their caller saw. */
const upstreamRequestsFailed = Metric.counter("sealgate_upstream_requests_failed_total", {
  description: "Requests that no target served, by error code.",
  incremental: true,
})

/** Seconds until the first output of a stream, by `provider` and `model`. */
const upstreamTimeToFirstToken = Metric.histogram("sealgate_upstream_time_to_first_token_seconds", {
  description: "Time until the first output of a streamed answer.",
  boundaries: LATENCY_BOUNDARIES,
})

/** Seconds that a call took until it ended, by `provider` and `model`. */
const upstreamDuration = Metric.histogram("sealgate_upstream_call_duration_seconds", {
  description: "Duration of calls to model providers.",
  boundaries: LATENCY_BOUNDARIES,
})

/** Tokens as providers reported them, by `provider`, `model` and `type` (`input`, `output`, `cached`, a part of input). */
const upstreamTokens = Metric.counter("sealgate_upstream_tokens_total", {
  description: "Tokens as providers reported them; cached tokens are part of input tokens.",
  incremental: true,
})

/** Calls under way, by `provider`. */
const upstreamInFlight = Metric.gauge("sealgate_upstream_calls_in_flight", {
  description: "Calls to model providers under way.",
})

/** State of a provider's circuit, by `provider`: 0 closed, 1 half-open, 2 open. */
const upstreamCircuit = Metric.gauge("sealgate_upstream_circuit_state", {
  description: "State of a provider's best circuit: 0 closed, 1 half-open, 2 open.",
})

const CIRCUIT_VALUE = { closed: 0, "half-open": 1, open: 2 } as const

const count = (metric: Metric.Counter<number>, attributes: Record<string, string>, by = 1) =>
  Metric.update(Metric.withAttributes(metric, attributes), by)

/** Counts one finished call. `model` is the label of the target's model. */
export const countAttempt = Effect.fnUntraced(function* (attempt: Attempt, model: string) {
  const { cause, outcome, provider, timeToFirstTokenMs, usage } = attempt
  yield* count(upstreamCalls, { provider, model, outcome })
  if (outcome !== "success" && outcome !== "interrupted") yield* count(upstreamErrors, { provider, kind: outcome })
  if (cause === "retry") yield* count(upstreamRetries, { provider })
  if (cause === "failover") yield* count(upstreamFailovers, { provider })
  const target = { provider, model }
  const seconds = (attempt.finishedAt - attempt.startedAt) / 1000
  yield* Metric.update(Metric.withAttributes(upstreamDuration, target), seconds)
  if (timeToFirstTokenMs !== null) {
    yield* Metric.update(Metric.withAttributes(upstreamTimeToFirstToken, target), timeToFirstTokenMs / 1000)
  }
  if (usage !== null) {
    yield* count(upstreamTokens, { ...target, type: "input" }, usage.prompt_tokens)
    yield* count(upstreamTokens, { ...target, type: "output" }, usage.completion_tokens)
    yield* count(upstreamTokens, { ...target, type: "cached" }, usage.prompt_tokens_details?.cached_tokens ?? 0)
  }
})

/** Counts one target that was passed over. */
export const countSkip = (provider: ProviderId, reason: "circuit" | "bulkhead"): Effect.Effect<void> =>
  count(upstreamSkips, { provider, reason })

/** Counts one request that no target served. */
export const countRequestFailed = (code: UpstreamCode): Effect.Effect<void> => count(upstreamRequestsFailed, { code })

/** Counts a call as under way while it runs. */
export const whileInFlight = <A, E, R>(provider: ProviderId, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const calls = Metric.withAttributes(upstreamInFlight, { provider })
  return Effect.acquireUseRelease(
    Metric.modify(calls, 1),
    () => call,
    () => Metric.modify(calls, -1),
  )
}

/** Shows the state of a provider's circuit. */
export const showCircuit = (provider: ProviderId, state: keyof typeof CIRCUIT_VALUE): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(upstreamCircuit, { provider }), CIRCUIT_VALUE[state])
