/** Access to TLS connections beyond Node's public interface. */
import type { Server as HttpsServer } from "node:https"
import { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/** The TCP connection under a TLS one, for which Node has no public name. A refused connection has nothing else left. */
export const transportOf = (socket: TLSSocket): Socket | undefined => {
  const transport: unknown = Reflect.get(socket, "_parent")
  return transport instanceof Socket ? transport : undefined
}

/** Retired connections close after their next answer. Cutting them would lose requests, also those just being sent. */
export const retireableConnections = (server: HttpsServer): { readonly retire: () => void } => {
  // By TCP connection, because one whose handshake is under way was also accepted under the old certificates.
  let current = new WeakSet<Socket>()
  let retired = false
  server.on("connection", (transport: Socket) => void current.add(transport))
  server.on("request", ({ socket }, response) => {
    if (!retired) return
    const transport = socket instanceof TLSSocket ? transportOf(socket) : undefined
    if (transport === undefined || !current.has(transport)) response.shouldKeepAlive = false
  })
  return {
    retire: () => {
      current = new WeakSet()
      retired = true
    },
  }
}
