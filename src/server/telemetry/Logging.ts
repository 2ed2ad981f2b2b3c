/** Log lines: pretty for a person at a terminal, JSON for machines. */
import { Context, type Fiber, Layer, Logger, References, Tracer } from "effect"
import { discreetCause } from "../../domain/problems/defect.ts"
import { requestTraceId } from "../../domain/operations/traceContext.ts"

const LEVELS = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None",
} as const

/** Wraps `logger` so that it gets only types and places of errors: their messages could quote a prompt. */
export const discreetLogger = <Output>(logger: Logger.Logger<unknown, Output>): Logger.Logger<unknown, Output> =>
  Logger.make((options) => logger.log({ ...options, cause: discreetCause(options.cause) }))

/** Makes lines name their trace. Loggers read annotations from the fiber, so they get a copy of it with one more. */
const tracedLogger = <Output>(logger: Logger.Logger<unknown, Output>): Logger.Logger<unknown, Output> =>
  Logger.make((options) => {
    const { fiber } = options
    const trace_id = requestTraceId(Context.getOrUndefined(fiber.context, Tracer.ParentSpan))
    if (trace_id === undefined) return logger.log(options)
    const annotations = { ...fiber.getRef(References.CurrentLogAnnotations), trace_id }
    const context = Context.add(fiber.context, References.CurrentLogAnnotations, annotations)
    const annotated: Fiber.Fiber<unknown, unknown> = Object.create(fiber, { context: { value: context } })
    return logger.log({ ...options, fiber: annotated })
  })

export interface LoggingSettings {
  readonly logLevel: keyof typeof LEVELS
  /** By default, pretty on a terminal and JSON elsewhere. */
  readonly logFormat: "pretty" | "json" | undefined
}

export const layerLogging = (settings: LoggingSettings) => {
  const format = settings.logFormat ?? (process.stdout.isTTY ? "pretty" : "json")
  const logger = format === "pretty" ? Logger.consolePretty() : Logger.consoleJson
  return Layer.merge(
    Logger.layer([tracedLogger(discreetLogger(logger))]),
    Layer.succeed(References.MinimumLogLevel, LEVELS[settings.logLevel]),
  )
}
