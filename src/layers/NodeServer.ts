/**
 * The listening server, with everything bounded that a stranger can open or send: connections in all and per address,
 * time for headers, bodies and idling, size of headers.
 */
import { createServer, type Server, type ServerResponse } from "node:http"
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Duration, Effect, Layer, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../domain/problem.ts"
import { subscriberOf } from "../http/shared/ClientAddress.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import type { Decoded } from "./config/Setting.ts"
import type { serverSettings } from "./config/serverSettings.ts"
import { keepTlsFresh, loadTls, tlsFiles } from "./Tls.ts"

export type ServerSettings = Decoded<ReturnType<typeof serverSettings>>

/** Largest request head, in bytes. */
const MAX_HEADER_BYTES = 16 * 1024
/** How often Node looks for requests that take too long, in milliseconds. */
const TIMEOUT_CHECK_MS = 1000
/** How long, after the drain, a connection that is in the middle of something may still be open. */
const LINGER = Duration.millis(500)

const serverOptions = (settings: ServerSettings) => ({
  maxHeaderSize: MAX_HEADER_BYTES,
  // Refused further in, as a problem document.
  requireHostHeader: false,
  headersTimeout: Duration.toMillis(settings.headersTimeout),
  requestTimeout: Duration.toMillis(Duration.max(settings.requestTimeout, settings.headersTimeout)),
  keepAliveTimeout: Duration.toMillis(settings.keepAliveTimeout),
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
})

const isTrusted = (settings: ServerSettings, address: string | undefined): boolean =>
  Result.match(NetAddress.ipFromString(address ?? ""), {
    onFailure: () => false,
    onSuccess: (parsed) => {
      const canonical = NetAddress.toCanonical(parsed)
      return settings.trustedProxies.some((network) => IpNetwork.contains(network, canonical))
    },
  })

const capConnections = (server: Server | HttpsServer, settings: ServerSettings): void => {
  const open = new Map<string, number>()
  server.maxConnections = settings.maxConnections
  server.on("connection", (socket: Socket) => {
    const address = subscriberOf(socket.remoteAddress ?? "unknown")
    const count = (open.get(address) ?? 0) + 1
    if (count > settings.maxConnectionsPerClient && !isTrusted(settings, socket.remoteAddress)) {
      socket.destroy()
      return
    }
    open.set(address, count)
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1
      if (left === 0) open.delete(address)
      else open.set(address, left)
    })
  })
}

/**
 * Cuts connections over which nothing moves although something should: answers that nobody reads, and idle ones. What
 * waits for a provider is left alone. Node counts a write as moving while the system still takes parts of it.
 */
const cutStalled = (server: Server | HttpsServer, settings: ServerSettings): void => {
  const serving = new Map<Socket, ServerResponse>()
  server.on("request", ({ socket }, response) => {
    serving.set(socket, response)
    response.once("close", () => {
      if (serving.get(socket) === response) serving.delete(socket)
    })
  })
  server.setTimeout(Duration.toMillis(settings.writeTimeout), (socket: Socket) => {
    if (!serving.has(socket) || socket.writableLength > 0) socket.destroy()
  })
}

/** Answers what Node's parser rejects, before there is a request, as a problem document too. */
const answerClientErrors = (server: Server | HttpsServer): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const [status, phrase, code] =
      error.code === "HPE_HEADER_OVERFLOW"
        ? [431, "Request Header Fields Too Large", "headers-too-large"]
        : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
          ? [408, "Request Timeout", "timeout"]
          : [400, "Bad Request", "malformed"]
    const body = JSON.stringify(makeProblem({ code: String(code), status: Number(status), title: String(phrase) }))
    socket.end(
      `HTTP/1.1 ${status} ${phrase}\r\ncontent-type: ${PROBLEM_CONTENT_TYPE}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  })
}

/** Listens as `settings` say, with TLS if there are certificates. */
export const layerNodeServer = (settings: ServerSettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const files = yield* tlsFiles(settings)
      if (files === undefined) return listen(createServer(serverOptions(settings)), settings)
      const loaded = yield* loadTls(files, settings.tlsMinVersion)
      const mutual = files.clientCa !== undefined
      const server = createHttpsServer({
        ...serverOptions(settings),
        ...loaded.context,
        requestCert: mutual,
        rejectUnauthorized: mutual,
      })
      return Layer.merge(
        listen(server, settings),
        Layer.effect(TlsStatus, keepTlsFresh(server, files, settings.tlsMinVersion, loaded)),
      )
    }),
  )

const listen = (server: Server | HttpsServer, settings: ServerSettings) => {
  capConnections(server, settings)
  cutStalled(server, settings)
  answerClientErrors(server)
  return Layer.merge(
    NodeHttpServer.layer(() => server, {
      port: settings.port,
      host: settings.host,
      gracefulShutdownTimeout: LINGER,
    }),
    Layer.succeed(ListeningServer, server),
  )
}

/** The Node server that listens, for what only it can do. */
class ListeningServer extends Context.Service<ListeningServer, Server | HttpsServer>()(
  "sealgate/layers/NodeServer/ListeningServer",
) {}

/**
 * Drains before anything below it is torn down: to be built last, because what is built last is closed first. While it
 * waits, the server still listens, so that `/ready` can say that it is draining.
 */
export const layerDrainFirst = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain
    const server = yield* ListeningServer
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        drain.drain,
        Effect.sync(() => {
          // Idle connections close by themselves; what is in the middle of something gets a moment more.
          setTimeout(() => server.closeAllConnections(), Duration.toMillis(LINGER)).unref()
        }),
      ),
    )
  }),
)
