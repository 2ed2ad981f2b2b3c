import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

/** Starts a server that answers every request with `answer`, until the scope closes. Returns its URL. */
export const answering = (answer: (response: ServerResponse, request: IncomingMessage) => unknown) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => void answer(response, request))
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  ).pipe(
    // `address()` is a string only for pipes.
    Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
