/**
 * Runs a program up to its end or a signal: the first SIGINT or SIGTERM closes it in order, a second one exits at once.
 * Keys are overwritten either way: by their scopes, or by the vault's hook on process exit.
 */
import { Cause, Duration, Effect, Exit, Layer, Runtime } from "effect"
import { CliError } from "effect/cli"
import { watchOutput } from "./output.ts"
import { printable } from "./printable.ts"
import { whatHappened } from "./whatHappened.ts"
import { CUT_SHORT } from "./servers.ts"

const HELD_UP = 1
/** Exit code of a command that was done, but whose output could not be written. */
const UNWRITTEN = 1
/**
 * Within this time the same signal counts once: npm passes a Ctrl-C on that the terminal has sent to the whole group
 * already, so the process hears of it twice.
 */
const SAME_SIGNAL_MS = 1000
/** How long, after the grace period, what is closed may take before the process ends without it. */
export const OVERTIME = Duration.seconds(8)
/** How long a program that is to end waits for those who read what it printed. */
const READERS_MS = 1000
/** Exit code of a command that was not given what it needs; its help and what was wrong are on the screen by then. */
const MISUSED = 2

/** 1, unless the error says otherwise. */
export const exitCodeOf = (cause: Cause.Cause<unknown>): number => {
  const error = Cause.squash(cause)
  return CliError.isCliError(error) ? MISUSED : Runtime.getErrorExitCode(error)
}

/** What is to be said of a program that failed. */
export const reportOf = (cause: Cause.Cause<unknown>): string => {
  let report = ""
  for (const reason of cause.reasons) {
    if (Cause.isInterruptReason(reason)) continue
    const text = whatHappened(Cause.isFailReason(reason) ? reason.error : reason.defect)
    if (text !== "") report += `${printable(text)}\n`
  }
  return report
}

/**
 * The last resort of a server, to be built last: a shutdown that something holds up, such as a database that does not
 * answer any more, ends with exit code 1 some seconds after the grace period. Keys are overwritten then too.
 */
export const layerLastResort = (grace: Duration.Duration, overtime = OVERTIME) =>
  Layer.effectDiscard(
    Effect.addFinalizer(() =>
      Effect.sync(() => {
        const give = () => {
          process.stderr.write("The shutdown did not end in time; what was left is cut off.\n")
          process.exit(HELD_UP)
        }
        setTimeout(give, Duration.toMillis(Duration.sum(grace, overtime))).unref()
      }),
    ),
  )

/**
 * Runs `program`. For what `serves` until it is stopped, a signal is the orderly end, with 0; everything else it cuts
 * short, with 130.
 */
export const runUntilSignal = <E>(program: Effect.Effect<unknown, E>, serves: boolean): void => {
  const output = watchOutput()
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  const stop = (signal: NodeJS.Signals) => {
    const at = performance.now()
    if (first === undefined) {
      first = { signal, at }
      if (fiber.pollUnsafe() === undefined) fiber.interruptUnsafe()
      // Only a reader of the output is left, for whom a server does not wait anyway.
      else if (!serves) process.exit(CUT_SHORT)
    } else if (signal !== first.signal || at - first.at > SAME_SIGNAL_MS) process.exit(CUT_SHORT)
  }
  /** A slow reader is waited for, but a stuck one must delay neither the end nor a restart. */
  const end = (code: number) => {
    if (serves || first !== undefined) setTimeout(() => process.exit(code), READERS_MS)
    output.settled((lost) => {
      // A server prints a log, and losing it does not undo its work.
      if (code !== 0 || serves || lost === undefined) process.exit(code)
      process.stderr.write(`The output could not be written: ${lost.message}\n`, () => process.exit(UNWRITTEN))
    })
  }
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  // A terminal that goes away, unless somebody else here takes the signal for a wish to read files again.
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
