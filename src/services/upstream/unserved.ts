/** Logs a request that no target served, without any of its content. */
import { Effect } from "effect"
import type { UpstreamError } from "../../domain/upstream/upstream.ts"
import type { TargetFailure } from "./TargetFailures.ts"
import type { TargetRegistry } from "./TargetRegistry.ts"

const SKIPPED = { bulkhead: "not called, no place free", circuit: "not called, circuit open" } as const

export const logUnserved = (
  { attempts = [], code, provider, retryable }: UpstreamError,
  failures: ReadonlyArray<TargetFailure>,
  registry: TargetRegistry,
): Effect.Effect<void> => {
  const called = attempts.map(
    (call) => `${call.provider} ${registry.label(call.provider, call.model)}: ${call.outcome}`,
  )
  const passedOver = failures.flatMap(({ provider, skipped }) =>
    skipped === undefined ? [] : `${provider}: ${SKIPPED[skipped]}`,
  )
  const why = Array.from(
    Map.groupBy([...called, ...passedOver], (end) => end),
    ([end, { length }]) => (length === 1 ? end : `${end} ×${length}`),
  )
  // The others are the request's fault.
  return Effect.logWithLevel(retryable ? "Warn" : "Info")("no provider served a request").pipe(
    Effect.annotateLogs({ code, provider, calls: attempts.length, why: why.join("; ") }),
  )
}
