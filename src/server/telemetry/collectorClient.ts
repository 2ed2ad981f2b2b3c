/**
 * The HTTP client of Effect's exporters. Never fails, because exporters pause a minute after a failure and log nothing.
 * Instead it drops the batch, and logs the first drop and the recovery.
 */
import { Cause, Effect, Metric, Option, References, Schedule, Semaphore, Stream } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { systemCode } from "../../domain/problems/systemErrors.ts"
import { counter } from "../../services/metrics.ts"
import type { Signal } from "./TelemetrySettings.ts"

const exports = counter("sealgate_telemetry_exports_total")

/** Before retries, unless the collector sends `Retry-After`. */
const BACKOFF = Schedule.jittered(Schedule.exponential("1 second", 1.5))
const RETRIES = 5

/** The reason for the log: the HTTP status or the system's error code, never the collector's answer. */
const reasonOf = (error: unknown): string => {
  if (!HttpClientError.isHttpClientError(error)) return systemCode(error) ?? "no answer in time"
  return error.reason._tag === "StatusCodeError"
    ? String(error.reason.response.status)
    : (systemCode(error) ?? error.reason._tag)
}

interface Collector {
  readonly signal: Signal
  readonly url: string
  /** Milliseconds for an export with its retries. */
  readonly timeoutMs: number
  /** Exports at a time. More are dropped. */
  readonly maxExports: number
}

export const makeCollectorClient = Effect.fnUntraced(function* ({ maxExports, signal, timeoutMs, url }: Collector) {
  const exporting = yield* Semaphore.make(maxExports)
  let failing = false
  /** The last failure, which explains a timeout during the pause before a retry. */
  let failure: unknown

  const http = (yield* HttpClient.HttpClient).pipe(
    HttpClient.tap(({ stream }) => Effect.ignore(Stream.runDrain(stream))),
    HttpClient.filterStatusOk,
    HttpClient.tapError((error) => Effect.sync(() => (failure = error))),
    HttpClient.retryTransient({ schedule: BACKOFF, times: RETRIES }),
  )

  const note = Effect.fnUntraced(function* (reason: string | undefined) {
    const failed = reason !== undefined
    if (!failed) failure = undefined
    yield* Metric.update(exports({ signal, outcome: failed ? "failure" : "success" }), 1)
    if (failed === failing) return
    failing = failed
    const { host } = new URL(url)
    // Replaces the exporter's annotations.
    yield* failed
      ? Effect.logWarning(
          "Telemetry does not reach its collector and is dropped; it is sent as JSON over OTLP/HTTP, usually to port 4318",
        ).pipe(Effect.provideService(References.CurrentLogAnnotations, { signal, host, reason }))
      : Effect.logInfo("Telemetry reaches its collector again").pipe(
          Effect.provideService(References.CurrentLogAnnotations, { signal, host }),
        )
  })

  return HttpClient.make((request) =>
    http.execute(request).pipe(
      Effect.timeout(timeoutMs),
      Effect.matchCauseEffect({
        onSuccess: () => note(undefined),
        onFailure: (cause) =>
          Cause.hasInterruptsOnly(cause) ? Effect.interrupt : note(reasonOf(failure ?? Cause.squash(cause))),
      }),
      exporting.withPermitsIfAvailable(1),
      Effect.flatMap(
        Option.match({ onSome: Effect.succeed, onNone: () => note("no answer yet to the exports before") }),
      ),
      Effect.as(HttpClientResponse.fromWeb(request, new Response())),
    ),
  )
})
