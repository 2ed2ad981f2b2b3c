import { Context } from "effect"

/** The id of the reservation that calls of this fiber are charged to; `null` without budgets. */
export const CurrentReservation = Context.Reference<string | null>("sealgate/services/budgets/CurrentReservation", {
  defaultValue: () => null,
})
