import { Context, Effect } from "effect"
import type { Amount } from "./limits.ts"

/** The id of the reservation that calls of this fiber are charged to; `null` without budgets. */
export const CurrentReservation = Context.Reference<string | null>("sealgate/services/budgets/CurrentReservation", {
  defaultValue: () => null,
})

/** Reserves more for the calls of this fiber, in the same budgets; `false` if they lack room. */
export const ReserveMore = Context.Reference<(amount: Amount) => Effect.Effect<boolean>>(
  "sealgate/services/budgets/ReserveMore",
  { defaultValue: () => () => Effect.succeed(false) },
)
