/**
 * What may be logged of any error: its type and its place in the code. Its message could quote a prompt or a secret.
 */
import { Cause } from "effect"

const MAX_FRAMES = 8

/** Type of an error: the tag of the product's own errors, else its name. */
export const typeOfError = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return typeof error
  if ("_tag" in error && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "object"
}

/** Stack frames of an error, innermost first, without the message that stands before them. */
export const placeOfError = (error: unknown): ReadonlyArray<string> => {
  if (!(error instanceof Error) || typeof error.stack !== "string") return []
  // The message is cut off as a whole, because its lines may look like stack frames. When the stack does not begin with
  // the message, the message was changed later and the two cannot be told apart, so nothing of the stack is used.
  const header = error.stack.indexOf(error.message)
  if (header < 0) return []
  return error.stack
    .slice(header + error.message.length)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim())
}

/** What a cause may tell the log: type and place of each of its errors. */
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

/** A cause with the type and place of each of its errors, for whatever prints causes. */
export const discreetCause = (cause: Cause.Cause<unknown>): Cause.Cause<Error> =>
  Cause.fromReasons(
    cause.reasons.map((reason) => {
      if (Cause.isInterruptReason(reason)) return reason
      return Cause.isFailReason(reason)
        ? Cause.makeFailReason(discreetError(reason.error))
        : Cause.makeDieReason(discreetError(reason.defect))
    }),
  )
