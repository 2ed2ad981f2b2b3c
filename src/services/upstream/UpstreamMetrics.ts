/** Metrics of provider calls. Labels are from closed lists; models are named as in `TargetRegistry`. */
import { type Context, Effect, type Exit, Metric } from "effect"
import type { UpstreamCode } from "../../domain/upstream/failures.ts"
import type { Attempt, ProviderId } from "../../domain/upstream/upstream.ts"
import { counter, gauge, histogram } from "../metrics.ts"
import type { SkipReason } from "./TargetFailures.ts"

const calls = counter("sealgate_upstream_calls_total")
const errors = counter("sealgate_upstream_errors_total")
const retries = counter("sealgate_upstream_retries_total")
const failovers = counter("sealgate_upstream_failovers_total")
const skips = counter("sealgate_upstream_skips_total")
const turns = counter("sealgate_upstream_turns_total")
const requestsFailed = counter("sealgate_upstream_requests_failed_total")
const timeToFirstToken = histogram("sealgate_upstream_time_to_first_token_seconds")
const duration = histogram("sealgate_upstream_call_duration_seconds")
const tokens = counter("sealgate_upstream_tokens_total")
const inFlight = gauge("sealgate_upstream_calls_in_flight")
const circuit = gauge("sealgate_upstream_circuit_state")

const CIRCUIT_VALUE = { closed: 0, "half-open": 1, open: 2 } as const

/** Counts one finished call. `model` is the label of the target's model. */
export const countAttempt = (attempt: Attempt, model: string, context: Context.Context<never>): void => {
  const { cause, outcome, provider, timeToFirstTokenMs, usage } = attempt
  const count = (metric: Metric.Metric<number, unknown>, by: number) => metric.updateUnsafe(by, context)
  count(calls({ provider, model, outcome }), 1)
  if (outcome !== "success" && outcome !== "interrupted") count(errors({ provider, kind: outcome }), 1)
  if (cause === "retry") count(retries({ provider }), 1)
  if (cause === "failover") count(failovers({ provider }), 1)
  const target = { provider, model }
  count(duration(target), (attempt.finishedAt - attempt.startedAt) / 1000)
  if (timeToFirstTokenMs !== null) count(timeToFirstToken(target), timeToFirstTokenMs / 1000)
  if (usage !== null) {
    count(tokens({ ...target, type: "input" }), usage.prompt_tokens)
    count(tokens({ ...target, type: "output" }), usage.completion_tokens)
    count(tokens({ ...target, type: "cached" }), usage.prompt_tokens_details?.cached_tokens ?? 0)
  }
}

/** Starts the count of refused keys at zero, because otherwise the first refusal would show no increase. */
export const showKeyRefusals = (provider: ProviderId): Effect.Effect<void> =>
  Metric.update(errors({ provider, kind: "unauthorized" }), 0)

export const countSkip = (provider: ProviderId, reason: SkipReason): Effect.Effect<void> =>
  Metric.update(skips({ provider, reason }), 1)

/** Counts one turn of a conversation that another provider answered than the order would choose. */
export const countTurn = (provider: ProviderId, affinity: "followed" | "moved"): Effect.Effect<void> =>
  Metric.update(turns({ provider, affinity }), 1)

/** Counts one request that no target served. */
export const countRequestFailed = (code: UpstreamCode): Effect.Effect<void> =>
  Metric.update(requestsFailed({ code }), 1)

/** Counts a call as in flight while it runs. `ended` receives its exit. */
export const whileInFlight = <A, E, R, R2>(
  provider: ProviderId,
  context: Context.Context<never>,
  call: Effect.Effect<A, E, R>,
  ended: (exit: Exit.Exit<A, E>) => Effect.Effect<void, never, R2>,
): Effect.Effect<A, E, R | R2> => {
  const underWay = inFlight({ provider })
  let isUnderWay = false
  const begin = Effect.suspend(() => {
    isUnderWay = true
    underWay.modifyUnsafe(1, context)
    return call
  })
  return Effect.onExit(begin, (exit) => {
    // An interruption may come before the call began.
    if (!isUnderWay) return Effect.void
    underWay.modifyUnsafe(-1, context)
    return ended(exit)
  })
}

export const showCircuit = (provider: ProviderId, state: keyof typeof CIRCUIT_VALUE): Effect.Effect<void> =>
  Metric.update(circuit({ provider }), CIRCUIT_VALUE[state])
