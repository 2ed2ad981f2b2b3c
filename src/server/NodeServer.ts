/** The listening server, with limits on all that a stranger can open or send. */
import { createServer, type Server } from "node:http"
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Duration, Effect, Layer } from "effect"
import { systemCode } from "../domain/problems/systemErrors.ts"
import { portOwner } from "./portOwner.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { CHECK_MS, type ConnectionLimits, limitConnections } from "./connections/ConnectionLimits.ts"
import { holdEarlyRequests } from "./connections/EarlyRequests.ts"
import { CannotListen } from "./CannotListen.ts"
import { checkTls, readTls, tlsFiles, type TlsSettings } from "./tls/Tls.ts"
import { reportRefusals } from "./tls/TlsRefusals.ts"
import { keepTlsFresh } from "./tls/TlsReload.ts"
import { UnreadBody } from "./connections/UnreadBody.ts"
import { untilQuiet } from "./connections/untilQuiet.ts"

export interface ListenSettings extends ConnectionLimits, TlsSettings {
  readonly host: string
  readonly port: number
  readonly headersTimeout: Duration.Duration
  readonly requestTimeout: Duration.Duration
  readonly keepAliveTimeout: Duration.Duration
  /** Names of the settings behind `host` and `port`, for messages; by default `HOST` and `PORT`. */
  readonly named?: { readonly host: string; readonly port: string }
}

const NAMES = { host: "HOST", port: "PORT" }

const cannotListen = Effect.fnUntraced(function* (
  error: unknown,
  { host, named = NAMES, port }: Pick<ListenSettings, "host" | "named" | "port">,
) {
  const code = systemCode(error)
  const fail = (problem: string) => Effect.fail(new CannotListen({ problem }))
  switch (code) {
    case "EADDRINUSE": {
      const who = yield* Effect.promise(() => portOwner(port))
      const by = who === undefined ? "another process" : who
      return yield* fail(
        `${named.port}: ${port} is taken by ${by}. Stop that one, or set ${named.port} to another port.`,
      )
    }
    case "EACCES":
      return yield* fail(`${named.port}: this user may not listen on ${port}. Set ${named.port} to 1024 or higher.`)
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return yield* fail(`${named.host}: there is no host ${host}. Set ${named.host} to an address of this machine.`)
    case "EADDRNOTAVAIL":
      return yield* fail(`${named.host}: ${host} is not an address of this machine. 0.0.0.0 means all its addresses.`)
    default:
      return yield* fail(
        `${named.host}, ${named.port}: nothing can listen on ${host}, port ${port} (${code ?? "unknown"}).`,
      )
  }
})

const MAX_HEADER_BYTES = 16 * 1024
/** How long a connection in use may stay open after the drain. */
const LINGER = Duration.millis(500)

const serverOptions = (settings: ListenSettings) => ({
  IncomingMessage: UnreadBody,
  maxHeaderSize: MAX_HEADER_BYTES,
  // A missing Host header is refused further in, with a problem document.
  requireHostHeader: false,
  headersTimeout: Duration.toMillis(settings.headersTimeout),
  requestTimeout: Duration.toMillis(Duration.max(settings.requestTimeout, settings.headersTimeout)),
  keepAliveTimeout: Duration.toMillis(settings.keepAliveTimeout),
  connectionsCheckingInterval: CHECK_MS,
})

export const layerNodeServer = (settings: ListenSettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const files = yield* tlsFiles(settings)
      if (files === undefined) return listen(createServer(serverOptions(settings)), settings)
      const loaded = yield* checkTls(yield* readTls(files), settings.tlsMinVersion)
      const mutual = files.clientCa !== undefined
      const server = createHttpsServer({
        ...serverOptions(settings),
        ...loaded.context,
        // Before its first request, only this time limit ends a silent connection.
        handshakeTimeout: Duration.toMillis(settings.headersTimeout),
        requestCert: mutual,
        rejectUnauthorized: mutual,
      })
      return Layer.mergeAll(
        listen(server, settings),
        Layer.effect(TlsStatus, keepTlsFresh(server, files, settings.tlsMinVersion, loaded)),
        Layer.effectDiscard(reportRefusals(server)),
      )
    }),
  )

const listen = (server: Server | HttpsServer, settings: ListenSettings) => {
  limitConnections(server, settings)
  holdEarlyRequests(server)
  return Layer.merge(
    NodeHttpServer.layer(() => server, {
      port: settings.port,
      host: settings.host,
      // Node's default of 511 loses connections of a burst that comes while the event loop is busy. The system may
      // allow fewer.
      backlog: settings.maxConnections,
      gracefulShutdownTimeout: LINGER,
    }).pipe(Layer.catch((error) => Layer.effectContext(cannotListen(error, settings)))),
    Layer.succeed(ListeningServer, server),
  )
}

/** The Node server, for code that needs more than Effect's interface to it. */
class ListeningServer extends Context.Service<ListeningServer, Server | HttpsServer>()(
  "sealgate/server/NodeServer/ListeningServer",
) {}

/** Cuts the remaining connections of a server that closes, after a moment. Idle ones close by themselves. */
const cutSoon = (server: Server | HttpsServer) =>
  Effect.sync(() => void setTimeout(() => server.closeAllConnections(), Duration.toMillis(LINGER)).unref())

/** Cuts connections in use a moment after closing. Must be built last. */
export const layerCutAtClose = Layer.effectDiscard(
  Effect.flatMap(ListeningServer, (server) => Effect.addFinalizer(() => cutSoon(server))),
)

/**
 * Drains before anything below is torn down. Must be built last: layers close in reverse order. The server still listens
 * meanwhile, so that `/ready` can report the drain.
 */
export const layerDrainFirst = ({ trustedProxies }: Pick<ListenSettings, "trustedProxies">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { drain } = yield* Drain
      const server = yield* ListeningServer
      const drained = trustedProxies.length === 0 ? drain : untilQuiet(server, drain)
      yield* Effect.addFinalizer(() => Effect.andThen(drained, cutSoon(server)))
    }),
  )
