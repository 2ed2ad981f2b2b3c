/** What Node does not tell of TLS connections. */
import type { Server as HttpsServer } from "node:https"
import { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/**
 * The TCP connection under a TLS one. Node has no public name for it, and of a connection that was refused nothing else
 * is left; without it, callers do without.
 */
export const transportOf = (socket: TLSSocket): Socket | undefined => {
  const transport: unknown = Reflect.get(socket, "_parent")
  return transport instanceof Socket ? transport : undefined
}

/**
 * Lets connections of `server` be retired: each that was opened before closes with the answer to its next request.
 * Cutting them would lose requests that are under way, and so would closing idle ones just when their client sends.
 */
export const retireableConnections = (server: HttpsServer): { readonly retire: () => void } => {
  // By transport, which is older than the handshake: who was still shaking hands was let in by the old rules too.
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
