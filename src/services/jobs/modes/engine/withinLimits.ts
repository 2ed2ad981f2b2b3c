/** Keeps a job's calls within the limits of its agent. */
import { Effect, Semaphore } from "effect"
import type { Allowance } from "../../../routing/Spending.ts"
import type { Ledger } from "../../../routing/Ledger.ts"
import type { RouterError } from "../../../routing/RoutingErrors.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import { allowanceOf, isLimited, limitFailure, limitReached, routingFailure } from "./jobFailures.ts"

/** Returns a function that makes a call with the unused part of the limits, and fails if they are used up. */
export const makeWithinLimits = ({ agent: { limits }, jobId }: JobContext, ledger: Ledger["Service"]) => {
  const spent = Effect.map(Effect.mapError(ledger.spent([jobId]), routingFailure), (spent) => spent(jobId))
  // Calls of a limited job take turns, so that each knows the unused part.
  const turns = Semaphore.makeUnsafe(1)

  return <A>(call: (allowance?: Allowance) => Effect.Effect<A, RouterError>): Effect.Effect<A, JobFailure> => {
    if (!isLimited(limits)) return Effect.mapError(call(), routingFailure)
    const limited = Effect.flatMap(spent, (before) => {
      const allowance = allowanceOf(limits, before)
      const limit = limitReached(allowance)
      if (limit !== undefined) return Effect.fail(limitFailure(limits, before, limit))
      return Effect.catch(call(allowance), (error) =>
        Effect.flatMap(spent, (after) => {
          const none = error._tag === "NoTarget" && (error.reason === "tokens" || error.reason === "cost")
          const reached = none ? error.reason : limitReached(allowanceOf(limits, after))
          if (reached === undefined) return Effect.fail(routingFailure(error))
          return Effect.fail(limitFailure(limits, after, reached, error._tag === "CallFailed" ? error.call : undefined))
        }),
      )
    })
    return turns.withPermit(limited)
  }
}
