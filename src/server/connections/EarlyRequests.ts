import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"

type EarlyRequest = readonly [request: IncomingMessage, response: ServerResponse]

/**
 * Holds requests that arrive before the handlers are built. Node drops a request event without a listener, so the request
 * would hang. Each new listener gets the held requests until the first one is answered.
 */
export const holdEarlyRequests = (server: Server | HttpsServer): void => {
  const early = new Set<EarlyRequest>()
  const hold = (...exchange: EarlyRequest) => {
    early.add(exchange)
    exchange[1].once("close", () => {
      early.delete(exchange)
      if (exchange[1].headersSent) stop()
    })
  }
  // Some listeners only count requests, so there may be several before the one that answers.
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
