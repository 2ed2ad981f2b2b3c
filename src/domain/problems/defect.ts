/** The loggable part of any error, its type and its place: the message could quote a prompt or a secret. */
import { Cause } from "effect"

const MAX_FRAMES = 8

/** Type of an error: its tag, else its name. */
export const typeOfError = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return typeof error
  if ("_tag" in error && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "object"
}

/** Stack frames of an error, innermost first, without the message before them. */
export const placeOfError = (error: unknown): ReadonlyArray<string> => {
  if (!(error instanceof Error) || typeof error.stack !== "string") return []
  // Removes the exact message, because its lines may look like stack frames. If the stack does not begin with it, the
  // message was changed later and cannot be separated, so the stack is not used.
  const header = error.stack.indexOf(error.message)
  if (header < 0) return []
  return error.stack
    .slice(header + error.message.length)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim())
}

/** Type and place of each error in a cause, for the log. */
export const describeCause = (cause: Cause.Cause<unknown>): string =>
  cause.reasons
    .flatMap((reason) => {
      if (Cause.isInterruptReason(reason)) return [reason._tag]
      const error = Cause.isDieReason(reason) ? reason.defect : reason.error
      return [typeOfError(error), ...placeOfError(error)]
    })
    .join("\n")

const discreetError = (error: unknown): Error => {
  const name = typeOfError(error)
  const discreet = new Error("")
  discreet.name = name
  discreet.stack = [name, ...placeOfError(error).map((frame) => `    ${frame}`)].join("\n")
  return discreet
}

/** A cause with only type and place of each error, for code that prints causes. */
export const discreetCause = (cause: Cause.Cause<unknown>): Cause.Cause<Error> =>
  Cause.fromReasons(
    cause.reasons.map((reason) => {
      if (Cause.isInterruptReason(reason)) return reason
      return Cause.isFailReason(reason)
        ? Cause.makeFailReason(discreetError(reason.error))
        : Cause.makeDieReason(discreetError(reason.defect))
    }),
  )
