/** What `sealgate connect` does. It is loaded only then, because it leads to all of the server. */
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { isLoopback } from "../domain/hostName.ts"
import { Connector, type ConnectorSettings } from "../layers/Connector.ts"
import { layerLogging, type LoggingSettings } from "../server/telemetry/Logging.ts"

const announce = (settings: ConnectorSettings) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    const url = NetAddress.isInetAddress(address) ? `http://${NetAddress.formatInet(address)}` : "a socket"
    yield* Effect.logInfo(`connector listening on ${url}/v1`)
    yield* Effect.logInfo(
      `sealing to ${String(settings.sealed.baseUrl)}; base URLs for programs: OPENAI_BASE_URL=${url}/v1 ANTHROPIC_BASE_URL=${url}`,
    )
    if (!isLoopback(settings.host)) {
      yield* Effect.logWarning("other machines may use this connector; what they send to it is not sealed on the way")
    }
    if (settings.receipts?.evidence === true) {
      yield* Effect.logWarning(`prompts and answers are kept in ${settings.receipts.folder}`)
    }
  })

export const serveConnector = (settings: ConnectorSettings, logging: LoggingSettings) =>
  Layer.launch(
    Layer.effectDiscard(announce(settings)).pipe(
      Layer.provideMerge(Connector.layer(settings)),
      Layer.provide(layerLogging(logging)),
    ),
  )
