/**
 * Starts the command. What it needs takes a moment to load, and a signal that comes meanwhile ends it: without a
 * handler it would be lost in a container, where this is the first process and the kernel spares that from its defaults.
 */
import { setImmediate } from "node:timers/promises"
import { CUT_SHORT, serves } from "./servers.ts"

/** As later on, a stopped server exits with success, and any other command does not. */
const stop = () => process.exit(serves(process.argv.slice(2)) ? 0 : CUT_SHORT)

export const start = async (): Promise<void> => {
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  const { runCommandLine } = await import("./commandLine.ts")
  // Modules are loaded without a turn of the event loop. This is the first one, in which such a signal is delivered.
  await setImmediate()
  process.off("SIGINT", stop)
  process.off("SIGTERM", stop)
  runCommandLine()
}
