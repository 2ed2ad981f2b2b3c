import { Context } from "effect"

/** Whether an endpoint takes only bodies that announce their length. */
export const NeedsLength = Context.Reference<boolean>("sealgate/api/NeedsLength", {
  defaultValue: () => false,
})
