import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"

type Exchange = readonly [request: IncomingMessage, response: ServerResponse]

/**
 * A server listens a moment before what answers is built, and Node gives a request that nobody listens for to nobody: it
 * would hang until its client gives up. These are kept and given to whoever comes to listen, until the first is answered.
 */
export const holdEarlyRequests = (server: Server | HttpsServer): void => {
  const early = new Set<Exchange>()
  const hold = (...exchange: Exchange) => {
    early.add(exchange)
    exchange[1].once("close", () => {
      early.delete(exchange)
      if (exchange[1].headersSent) stop()
    })
  }
  // Not all who listen answer: some only count, so there may be several before the one that does.
  const giveTo = (event: string | symbol, listener: (...args: ReadonlyArray<unknown>) => void) => {
    if (event !== "request") return
    for (const exchange of early) listener.apply(server, [...exchange])
  }
  const stop = () => {
    server.off("request", hold)
    server.off("newListener", giveTo)
  }
  server.on("request", hold)
  server.on("newListener", giveTo)
}
