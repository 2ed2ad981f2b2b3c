/** Log lines: pretty for a person at a terminal, JSON for machines. */
import { Layer, Logger, References } from "effect"
import type { ServerSettings } from "./NodeServer.ts"

const LEVELS = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None",
} as const

export const layerLogging = (settings: Pick<ServerSettings, "logLevel" | "logFormat">) => {
  const format = settings.logFormat ?? (process.stdout.isTTY ? "pretty" : "json")
  const logger = format === "pretty" ? Logger.consolePretty() : Logger.consoleJson
  return Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, LEVELS[settings.logLevel]))
}
