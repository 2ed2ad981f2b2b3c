/** The operator's listener. Its answers reveal single requests, which observers of sealed traffic must not read. */
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { isLoopback } from "../domain/access/hostName.ts"
import { layerOperatorRoutes, type OperatorRoutesSettings } from "../http/shared/Operations.ts"
import { layerOwnSpans } from "../http/shared/requestSpan.ts"
import { layerCutAtClose, layerNodeServer, type ListenSettings } from "../server/NodeServer.ts"
import { urlOf } from "../server/serverUrl.ts"
import { type OperatorAddress, operatorPortOf } from "./config/serverSettings.ts"

/** The URL of the operator's listener; `undefined` if there is none. */
export const OperatorListener = Context.Reference<string | undefined>("sealgate/layers/OperatorListener", {
  defaultValue: () => undefined,
})

type OperatorListenerSettings = ListenSettings &
  OperatorRoutesSettings &
  OperatorAddress & { readonly operatorHost: string }

const warnBeyondLoopback = (host: string) =>
  isLoopback(host)
    ? Effect.void
    : Effect.logInfo(
        `anyone who can reach the operator's port on ${host} can read which models are used, when and how much`,
      )

/** Plain HTTP, for this machine or the operator's network. Elsewhere, read `/metrics` with a token on the public port. */
export const layerOperatorListener = (settings: OperatorListenerSettings) => {
  const port = operatorPortOf(settings)
  if (port === "off") return Layer.succeed(OperatorListener, undefined)
  const { operatorHost: host } = settings
  const routes = layerOperatorRoutes({ ...settings, host })
  return Layer.merge(
    Layer.effect(
      OperatorListener,
      Effect.map(HttpServer.HttpServer, ({ address }) => urlOf(address, false)),
    ),
    layerCutAtClose,
  ).pipe(
    // Provided rather than merged, because layers built on this one have a router of their own.
    Layer.provide(
      HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(Layer.provide(layerOwnSpans)),
    ),
    Layer.provide(
      layerNodeServer({
        ...settings,
        host,
        port,
        named: { host: "OPERATOR_HOST", port: "OPERATOR_PORT" },
        tlsCertFile: undefined,
        tlsKeyFile: undefined,
        tlsClientCaFile: undefined,
      }),
    ),
    Layer.merge(Layer.effectDiscard(warnBeyondLoopback(host))),
  )
}
