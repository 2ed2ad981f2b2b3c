import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"

type EarlyRequest = readonly [request: IncomingMessage, response: ServerResponse]

/** Holds requests until the handlers are built: Node drops those without a listener. Each new listener gets them. */
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
