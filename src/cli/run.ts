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
const exitCodeOf = (cause: Cause.Cause<unknown>): number => {
  const error = Cause.squash(cause)
  return CliError.isCliError(error) ? MISUSED : Runtime.getErrorExitCode(error)
}

const tell = (cause: Cause.Cause<unknown>): void => {
  for (const reason of cause.reasons) {
    if (Cause.isInterruptReason(reason)) continue
    const error = Cause.isFailReason(reason) ? reason.error : reason.defect
    const text = error instanceof Error ? error.message : String(error)
    if (CliError.isCliError(error) || text === "") continue
    // A defect is a fault of this program, so its place is worth more than its words.
    process.stderr.write(`${Cause.isDieReason(reason) && error instanceof Error ? (error.stack ?? text) : text}\n`)
  }
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
    if (Exit.isSuccess(exit) || (signalled && Cause.hasInterruptsOnly(exit.cause))) process.exit(0)
    tell(exit.cause)
    process.exit(exitCodeOf(exit.cause))
  })
}
