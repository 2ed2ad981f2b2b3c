import { once } from "node:events"
import type { Server as HttpServer } from "node:http"
import type { AddressInfo, Server } from "node:net"
import { Effect, type Scope } from "effect"

// `address()` is a string only for pipes.
export const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** Lets a server listen on a free port until the scope closes, and then ends its connections. Returns the port. */
export const listening = (
  server: Server & Pick<HttpServer, "closeAllConnections">,
  host = "127.0.0.1",
): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, host), "listening")),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  ).pipe(Effect.map(() => portOf(server)))
