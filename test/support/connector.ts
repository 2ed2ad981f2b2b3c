/** A connector in this process, on a free port of 127.0.0.1. */
import { Context, Effect, Layer, Logger } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { Connector, type ConnectorSettings } from "../../src/layers/Connector.ts"

/** Starts a connector that runs until the scope closes. */
export const startConnector = Effect.fnUntraced(function* (
  settings: Partial<ConnectorSettings> & Pick<ConnectorSettings, "sealed">,
) {
  const context = yield* Layer.build(
    Connector.layer({ host: "127.0.0.1", port: 0, allowedHosts: [], ...settings }).pipe(
      Layer.provide(Logger.layer([])),
    ),
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (!NetAddress.isInetAddress(address)) return yield* Effect.die(new Error("the connector listens on no port"))
  return { url: `http://127.0.0.1:${address.port}`, port: address.port }
})
