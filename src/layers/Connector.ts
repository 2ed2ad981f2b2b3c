import { Effect, Layer } from "effect"
import { createSealedFetch, type SealedFetchOptions, type VerifiedAnswer } from "../client/sdk/sealedFetch.ts"
import { failureAnswer, layerConnectorRoutes } from "../http/connector/ConnectorRoutes.ts"
import { openReceiptFolder, type ReceiptFolderSettings } from "../http/connector/ReceiptFolder.ts"
import { hostRules } from "../http/shared/Hosts.ts"
import { connectorServerSettings } from "./config/connectorSettings.ts"
import { serve, start } from "./serve.ts"

export interface ConnectorSettings {
  readonly host: string
  /** Host names that requests may use, besides this machine's. */
  readonly allowedHosts: ReadonlyArray<string>
  readonly port: number
  /** The proxy, its pins, and how answers are released. */
  readonly sealed: Omit<SealedFetchOptions, "onVerified" | "lastWords">
  readonly receipts?: ReceiptFolderSettings
  /** Called with every verified answer, after its receipt was written. */
  readonly onVerified?: (answer: VerifiedAnswer) => Effect.Effect<void>
}

const onVerified = Effect.fnUntraced(function* (settings: ConnectorSettings) {
  const keep = settings.receipts === undefined ? undefined : yield* openReceiptFolder(settings.receipts)
  const context = yield* Effect.context<never>()
  return async (answer: VerifiedAnswer): Promise<void> => {
    await keep?.(answer)
    if (settings.onVerified !== undefined) await Effect.runPromiseWith(context)(settings.onVerified(answer))
  }
})

/** The connector. On closing it waits for requests in flight. Provides the bound address (`HttpServer`). */
const layerConnector = (settings: ConnectorSettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* connectorServerSettings(settings.host, settings.port)
      const routes = layerConnectorRoutes({
        hosts: hostRules(settings),
        fetch: createSealedFetch({
          ...settings.sealed,
          onVerified: yield* onVerified(settings),
          lastWords: failureAnswer,
        }),
        maxBodyBytes: server.maxRequestBytes,
      })
      return serve(server, { routes, shared: Layer.empty, services: Layer.empty })
    }),
  )

/** The connector, to be embedded. */
export const Connector = {
  /** As a layer, which stops the connector when its scope closes. */
  layer: layerConnector,
  /** For programs without Effect. Rejects if the port is taken. */
  start: (settings: ConnectorSettings) => start(layerConnector(settings)),
}
