import { Context, Effect } from "effect"
import type { TlsReadiness } from "../../domain/operations/readiness.ts"

/** How the server's connections are protected right now; whoever wires a server with TLS provides the real state. */
export const TlsStatus = Context.Reference<Effect.Effect<TlsReadiness>>("sealgate/services/lifecycle/TlsStatus", {
  defaultValue: () => Effect.succeed({ mode: "off", expires_at: null, last_reload_error: null }),
})
