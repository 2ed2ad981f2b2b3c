/** The connector, wired. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { createSealedFetch, type SealedFetchOptions, type VerifiedAnswer } from "../client/sealedFetch.ts"
import { layerConnectorRoutes } from "../http/connector/Connector.ts"
import type { HostRules } from "../http/connector/hosts.ts"
import { openReceiptFolder, type ReceiptFolderSettings } from "../http/connector/ReceiptFolder.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { connectorServerSettings } from "./config/connectorSettings.ts"
import { layerDrainFirst, layerNodeServer } from "./NodeServer.ts"

export interface ConnectorSettings extends HostRules {
  readonly host: string
  readonly port: number
  /** The proxy, its pins, and how answers are handed out. */
  readonly sealed: Omit<SealedFetchOptions, "onVerified">
  readonly receipts?: ReceiptFolderSettings
  /** Told of every verified answer, after its receipt was written. */
  readonly onVerified?: (answer: VerifiedAnswer) => Effect.Effect<void>
}

/** Largest request body, in bytes. What may be sealed is for the proxy to say; this only bounds memory. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

const onVerified = Effect.fnUntraced(function* (settings: ConnectorSettings) {
  const keep = settings.receipts === undefined ? undefined : yield* openReceiptFolder(settings.receipts)
  const context = yield* Effect.context<never>()
  return async (answer: VerifiedAnswer): Promise<void> => {
    await keep?.(answer)
    if (settings.onVerified !== undefined) await Effect.runPromiseWith(context)(settings.onVerified(answer))
  }
})

/** A connector: listens, serves, and on closing waits for what is in flight. Gives the bound address (`HttpServer`). */
export const layerConnector = (settings: ConnectorSettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* connectorServerSettings(settings.host, settings.port)
      const routes = layerConnectorRoutes({
        allowedHosts: settings.allowedHosts,
        allowRemote: settings.allowRemote,
        fetch: createSealedFetch({ ...settings.sealed, onVerified: yield* onVerified(settings) }),
        maxBodyBytes: MAX_BODY_BYTES,
      })
      return layerDrainFirst.pipe(
        Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })),
        Layer.provideMerge(layerNodeServer(server)),
        Layer.provideMerge(Drain.layer({ grace: server.shutdownGrace })),
      )
    }),
  )
