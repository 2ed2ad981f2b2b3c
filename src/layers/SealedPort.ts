/** The sealed proxy of a gateway: a second listener for the holders of its keys and tokens. */
import { Effect, Layer } from "effect"
import type { Rule } from "../domain/problems/configuration.ts"
import { layerSealedCalls } from "../http/gateway/calls/sealedCalls.ts"
import { ownUrl } from "../server/serverUrl.ts"
import { layerGatewayCallers } from "../services/access/GatewayCallers.ts"
import type { Drain } from "../services/lifecycle/Drain.ts"
import { Attestation } from "../services/sealing/Attestation.ts"
import type { GatewaySettings } from "./config/gatewaySettings.ts"
import { proxyRules, proxySettings } from "./config/proxySettings.ts"
import { decodeSettings } from "./config/Setting.ts"
import { layerProxyOf, type ProxySettings } from "./Proxy.ts"

/** Rejects `ATTEST`: evidence describes a process that does nothing but seal. */
const withoutEvidence: Rule<Pick<ProxySettings, "attest">> = {
  of: ["attest"],
  problems: ({ attest }) => ({
    ATTEST: attest !== undefined && "is set together with SEALED_PORT; only `sealgate proxy` gives evidence",
  }),
}

/**
 * The gateway's settings as far as a proxy has them too. Those that only a proxy has come from the environment, and so does
 * the largest body, whose default is larger at a proxy.
 */
const proxySettingsOf = (settings: GatewaySettings, port: number) => {
  const { maxRequestBytes: _, ...given } = settings
  const shared = Object.entries(given).filter(([name, value]) => name in proxySettings && value !== undefined)
  // Settings of one name have one codec, at the gateway and at the proxy.
  const values = { ...Object.fromEntries(shared), port, operatorPort: "off" } as Partial<ProxySettings>
  return decodeSettings(proxySettings, { given: values, rules: [...proxyRules, withoutEvidence] })
}

const announce = Effect.gen(function* () {
  const { kid } = yield* Attestation
  yield* Effect.logInfo(`sealed proxy listening on ${yield* ownUrl}; identity to pin: ${kid}`)
})

/** Listens on `SEALED_PORT`, if it is set. */
export const layerSealedPort = (settings: GatewaySettings, drain: Layer.Layer<Drain>) => {
  const { maxCallsPerTenant, rateLimitExecute, rateLimitTenantExecute = rateLimitExecute, sealedPort } = settings
  if (sealedPort === undefined) return Layer.empty
  return Layer.unwrap(
    Effect.map(proxySettingsOf(settings, sealedPort), (proxy) =>
      Layer.effectDiscard(announce).pipe(
        // Provided rather than merged, because the gateway has an address of its own.
        Layer.provide(
          layerProxyOf(
            { ...proxy, named: { host: "HOST", port: "SEALED_PORT" } },
            {
              callers: layerGatewayCallers({
                perMinute: rateLimitTenantExecute,
                inFlight: maxCallsPerTenant,
                refusedPerMinute: proxy.rateLimitRefused,
              }),
              answering: layerSealedCalls,
            },
            drain,
          ),
        ),
      ),
    ),
  )
}
