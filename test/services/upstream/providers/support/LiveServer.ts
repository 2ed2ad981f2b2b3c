/** A server on a real socket that follows a test's script and observes its connections. */
import { Duration, Effect, Redacted } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { ProviderHttp } from "../../../../../src/services/upstream/ProviderHttp.ts"
import { makeHttpProvider } from "../../../../../src/services/upstream/providers/http/HttpProvider.ts"
import type { Limits } from "../../../../../src/services/upstream/providers/shared/Limits.ts"
import { type Vendor, VENDORS } from "./Canned.ts"

export interface LiveServer {
  readonly url: string
  /** How many connections were opened. */
  readonly connections: () => number
  /** How many of them are open. */
  readonly open: () => number
  /** Waits until no connection is open. */
  readonly closed: Effect.Effect<void>
}

export const serve = (handler: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.callback<LiveServer & { readonly stop: Effect.Effect<void> }>((resume) => {
      let connections = 0
      let open = 0
      const waiting: Array<() => void> = []
      const server = createServer((request, response) => {
        // A handler starts once the request has come whole.
        request.resume().once("end", () => handler(request, response))
      })
      server.on("connection", (socket) => {
        connections++
        open++
        socket.on("error", () => {})
        socket.once("close", () => {
          open--
          if (open === 0) for (const resolve of waiting.splice(0)) resolve()
        })
      })
      server.listen(0, "127.0.0.1", () => {
        // A server that listens on TCP has an address with a port.
        const { port } = server.address() as AddressInfo
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${port}`,
            connections: () => connections,
            open: () => open,
            closed: Effect.callback<void>((done) => {
              if (open === 0) done(Effect.void)
              else waiting.push(() => done(Effect.void))
            }),
            stop: Effect.callback<void>((done) => {
              server.close(() => done(Effect.void))
              server.closeAllConnections()
            }),
          }),
        )
      })
    }),
    (server) => server.stop,
  )

/** A provider of `vendor` at `baseUrl`, over the HTTP client that the product uses. */
export const live = (vendor: Vendor, baseUrl: string, limits?: Partial<Limits>) => {
  const { format, id, model } = VENDORS[vendor]
  return makeHttpProvider(format, { id, apiKey: Redacted.make("the-secret-key"), baseUrl, defaultModel: model, limits })
}

export const client = ProviderHttp.layer({ connect: Duration.seconds(10), traceHeaders: false })
