/** Runs a program until a signal closes it in order; a second one exits at once. Keys are overwritten in both cases. */
import { Cause, Duration, Effect, Exit, Layer, Runtime } from "effect"
import { CliError } from "effect/cli"
import { watchOutput } from "./output.ts"
import { printable } from "./printable.ts"
import { failureMessage } from "./failureMessage.ts"
import { ConfigurationMistakes } from "../domain/problems/configuration.ts"
import { fileReason } from "../domain/problems/systemErrors.ts"
import { CUT_SHORT } from "./servers.ts"

const HELD_UP = 1
/** Exit code if the command succeeded but its output could not be written. */
const UNWRITTEN = 1
/** A repeated signal within this time is ignored: npm forwards a Ctrl-C that the terminal already sent to the whole group. */
const SAME_SIGNAL_MS = 1000
/** Time for closing after the grace period before the process is ended. */
export const OVERTIME = Duration.seconds(8)
/** How long an ending program waits for readers of its output. */
const READERS_MS = 1000
/** Exit code of a misused command. systemd does not restart a server that exits with it (deploy/*.service). */
const MISUSED = 2

/** Returns the exit code of the error; 1 by default. */
export const exitCodeOf = (cause: Cause.Cause<unknown>): number => {
  const error = Cause.squash(cause)
  const isMisuse = CliError.isCliError(error) || error instanceof ConfigurationMistakes
  return isMisuse ? MISUSED : Runtime.getErrorExitCode(error)
}

/** Returns the message for a failed program. */
export const reportOf = (cause: Cause.Cause<unknown>): string => {
  let report = ""
  for (const reason of cause.reasons) {
    if (Cause.isInterruptReason(reason)) continue
    const text = failureMessage(Cause.isFailReason(reason) ? reason.error : reason.defect)
    if (text !== "") report += `${printable(text)}\n`
  }
  return report
}

/** Ends a hanging shutdown with exit code 1 after the grace period. Build it last. Keys are overwritten here too. */
export const layerLastResort = (grace: Duration.Duration, overtime = OVERTIME) =>
  Layer.effectDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => {
        const giveUp = () => {
          process.stderr.write("The shutdown did not end in time; the remaining work was cut off.\n")
          process.exit(HELD_UP)
        }
        setTimeout(giveUp, Duration.toMillis(Duration.sum(grace, overtime))).unref()
      }),
    ),
  )

/** Runs `program`. A signal ends a server (`serves`) with exit code 0, and any other command with 130. */
export const runUntilSignal = <E>(program: Effect.Effect<unknown, E>, serves: boolean): void => {
  const output = watchOutput()
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  const stop = (signal: NodeJS.Signals) => {
    const at = performance.now()
    if (first === undefined) {
      first = { signal, at }
      if (fiber.pollUnsafe() === undefined) fiber.interruptUnsafe()
      // The program is done and only waits for a reader of its output. Servers do not wait.
      else if (!serves) process.exit(CUT_SHORT)
    } else if (signal !== first.signal || at - first.at > SAME_SIGNAL_MS) process.exit(CUT_SHORT)
  }
  /** Waits for a slow reader, but not for one that is stuck: it must not delay a restart. */
  const end = (code: number) => {
    if (serves || first !== undefined) setTimeout(() => process.exit(code), READERS_MS)
    output.settled((lost) => {
      // A server only prints a log, so lost output is no failure.
      if (code !== 0 || serves || lost === undefined) process.exit(code)
      process.stderr.write(`The output could not be written: ${fileReason(lost)}.\n`, () => process.exit(UNWRITTEN))
    })
  }
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  // SIGHUP means that the terminal closed, unless another listener uses it to reload files.
  process.on("SIGHUP", (signal) => {
    if (process.listenerCount("SIGHUP") === 1) stop(signal)
  })
  const fiber = Effect.runFork(program)
  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit)) return end(0)
    if (first !== undefined && Cause.hasInterruptsOnly(exit.cause)) return end(serves ? 0 : CUT_SHORT)
    process.stderr.write(reportOf(exit.cause))
    end(exitCodeOf(exit.cause))
  })
}
