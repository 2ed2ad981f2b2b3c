import { Context, Effect } from "effect"
import type { TlsReadiness } from "../../domain/operations/readiness.ts"

/** The state of TLS; the default is `off`, and a server with TLS provides the real state. */
export const TlsStatus = Context.Reference<Effect.Effect<TlsReadiness>>("sealgate/services/lifecycle/TlsStatus", {
  defaultValue: () => Effect.succeed({ mode: "off", expires_at: null, last_reload_error: null, invalid: null }),
})
