import { Context } from "effect"

/** Body limit of an endpoint, in bytes, if it is below its server's. */
export const MaxBodyBytes = Context.Reference<number>("sealgate/api/MaxBodyBytes", {
  defaultValue: () => Infinity,
})
