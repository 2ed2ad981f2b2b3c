/** Log lines: pretty for a person at a terminal, JSON for machines. */
import { Layer, Logger, References } from "effect"
import { discreetCause } from "../../domain/defect.ts"

const LEVELS = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None",
} as const

/** `logger`, which gets only the types and places of the errors in a cause: their messages could quote a prompt. */
export const discreetLogger = <Output>(logger: Logger.Logger<unknown, Output>): Logger.Logger<unknown, Output> =>
  Logger.make((options) => logger.log({ ...options, cause: discreetCause(options.cause) }))

export interface LoggingSettings {
  readonly logLevel: keyof typeof LEVELS
  /** By default, pretty on a terminal and JSON elsewhere. */
  readonly logFormat: "pretty" | "json" | undefined
}

export const layerLogging = (settings: LoggingSettings) => {
  const format = settings.logFormat ?? (process.stdout.isTTY ? "pretty" : "json")
  const logger = format === "pretty" ? Logger.consolePretty() : Logger.consoleJson
  return Layer.merge(
    Logger.layer([discreetLogger(logger)]),
    Layer.succeed(References.MinimumLogLevel, LEVELS[settings.logLevel]),
  )
}
