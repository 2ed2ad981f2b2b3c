/** The state of the file of providers, for `/ready`; `undefined` without one. */
import { Context, Effect } from "effect"
import type { ProvidersFileReadiness } from "../../domain/operations/readiness.ts"

/** The default; a server with such a file provides the real state. */
export const ProvidersFileStatus = Context.Reference<Effect.Effect<ProvidersFileReadiness | undefined>>(
  "sealgate/services/upstream/ProvidersFileStatus",
  { defaultValue: () => Effect.undefined },
)
