import { type Cause, Effect } from "effect"
import { describeCause } from "../domain/problems/defect.ts"

/** Logs a fault by type and place, as an annotation: a second argument would turn the message into a list. */
export const logFault = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logError(message).pipe(Effect.annotateLogs({ fault: describeCause(cause) }))
