/**
 * Runs a long-lived program: the first SIGINT or SIGTERM closes it in order and exits 0, a second one exits at once.
 * Keys are overwritten either way: by their scopes, or by the vault's hook on process exit.
 */
import { Cause, Effect, Exit, Runtime } from "effect"
import { CliError } from "effect/cli"

/** Exit code after a second signal, as shells write a process ended by SIGINT. */
const IMPATIENT = 130
/** Exit code of a command that was not given what it needs; its help and what was wrong are on the screen by then. */
const MISUSED = 2

/** 1, unless the error says otherwise. */
export const exitCodeOf = (cause: Cause.Cause<unknown>): number => {
  const error = Cause.squash(cause)
  return CliError.isCliError(error) ? MISUSED : Runtime.getErrorExitCode(error)
}

/** Some errors, such as that of a port that is taken, say nothing themselves and leave it to their cause. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.message === "" && error.cause !== undefined ? messageOf(error.cause) : error.message
}

/** What is to be said of a program that failed. */
export const reportOf = (cause: Cause.Cause<unknown>): string => {
  let report = ""
  for (const reason of cause.reasons) {
    if (Cause.isInterruptReason(reason)) continue
    const error = Cause.isFailReason(reason) ? reason.error : reason.defect
    const text = messageOf(error)
    if (CliError.isCliError(error) || text === "") continue
    // A defect is a fault of this program, so its place is worth more than its words.
    report += `${Cause.isDieReason(reason) && error instanceof Error ? (error.stack ?? text) : text}\n`
  }
  return report
}

export const runUntilSignal = <E>(program: Effect.Effect<unknown, E>): void => {
  const fiber = Effect.runFork(program)
  let signalled = false
  const stop = () => {
    if (signalled) process.exit(IMPATIENT)
    signalled = true
    fiber.interruptUnsafe()
  }
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  fiber.addObserver((exit) => {
    // A program that means something else than success by being stopped has set the exit code itself.
    if (Exit.isSuccess(exit) || (signalled && Cause.hasInterruptsOnly(exit.cause))) process.exit()
    process.stderr.write(reportOf(exit.cause))
    process.exit(exitCodeOf(exit.cause))
  })
}
