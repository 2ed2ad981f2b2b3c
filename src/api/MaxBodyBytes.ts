import { Context } from "effect"

/** The most bytes that a body of an endpoint may have, where it needs fewer than its server takes. */
export const MaxBodyBytes = Context.Reference<number>("sealgate/api/MaxBodyBytes", {
  defaultValue: () => Infinity,
})
