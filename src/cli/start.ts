/** Handles signals while modules load: in a container this is process 1, whose unhandled signals the kernel ignores. */
import { setImmediate } from "node:timers/promises"
import { CUT_SHORT, serves } from "./servers.ts"

/** As in `runUntilSignal`, a stopped server exits with 0 and any other command does not. */
const stop = () => process.exit(serves(process.argv.slice(2)) ? 0 : CUT_SHORT)

export const start = async (): Promise<void> => {
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  const { runCommandLine } = await import("./commandLine.ts")
  // No signal is delivered while modules load. This turn of the event loop delivers one that arrived meanwhile.
  await setImmediate()
  process.off("SIGINT", stop)
  process.off("SIGTERM", stop)
  runCommandLine()
}
