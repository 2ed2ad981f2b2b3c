/** Logs once when telemetry no longer reaches the collector, and when it does again. */
import { Effect, Metric } from "effect"
import { systemCode } from "../../domain/problems/systemErrors.ts"
import { counter } from "../../services/metrics.ts"
import type { Signal } from "./TelemetrySettings.ts"

const exports = counter("sealgate_telemetry_exports_total")

/** `ExportResult` of the SDK, whose code is 0 for success and 1 for failure. */
interface ExportResult {
  readonly code: number
  readonly error?: Error
}

const SUCCESS = 0

interface Exporter<Items> {
  export: (items: Items, done: (result: ExportResult) => void) => void
}

/** The SDK's error messages without a status or a system error. */
const SDK_REASONS: Readonly<Record<string, string>> = {
  "Request timed out": "no answer in time",
  "Concurrent export limit reached": "no answer yet to the export before",
  "Export failed with retryable status": "it asks to try again later",
}

/** The reason for the log: the HTTP status or the system's error code, never the collector's answer. */
const reasonOf = (error: Error | undefined): string => {
  const code: unknown = systemCode(error) ?? (error === undefined ? undefined : Reflect.get(error, "code"))
  return typeof code === "string" || typeof code === "number"
    ? String(code)
    : (SDK_REASONS[error?.message ?? ""] ?? error?.name ?? "unknown")
}

/**
 * Counts the exports of `exporter` and logs when they begin to fail and when they succeed again. The SDK itself drops
 * what it could not send and says nothing.
 */
export const watchExports = Effect.fnUntraced(function* <Items, E extends Exporter<Items>>(
  signal: Signal,
  url: string,
  exporter: E & Exporter<Items>,
) {
  const context = yield* Effect.context<never>()
  let failing = false

  const note = Effect.fnUntraced(function* ({ code, error }: ExportResult) {
    const failed = code !== SUCCESS
    yield* Metric.update(exports({ signal, outcome: failed ? "failure" : "success" }), 1)
    if (failed === failing) return
    failing = failed
    yield* failed
      ? Effect.logWarning(
          "Telemetry does not reach its collector and is dropped; it is sent as JSON over OTLP/HTTP, usually to port 4318",
        ).pipe(Effect.annotateLogs({ signal, host: new URL(url).host, reason: reasonOf(error) }))
      : Effect.logInfo("Telemetry reaches its collector again").pipe(
          Effect.annotateLogs({ signal, host: new URL(url).host }),
        )
  })

  const send = exporter.export.bind(exporter)
  exporter.export = (items, done) =>
    send(items, (result) => {
      Effect.runForkWith(context)(note(result))
      done(result)
    })
  return exporter
})
