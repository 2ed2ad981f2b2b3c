import { Context } from "effect"

/** Whether an endpoint requires `Content-Length`. */
export const NeedsLength = Context.Reference<boolean>("sealgate/api/NeedsLength", {
  defaultValue: () => false,
})
