/** Access to TLS connections that Node does not offer. */
import type { Server as HttpsServer } from "node:https"
import { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/**
 * The TCP connection under a TLS one. Node has no public name for it, and it is all that is left of a connection that
 * was refused. It may be `undefined`.
 */
export const transportOf = (socket: TLSSocket): Socket | undefined => {
  const transport: unknown = Reflect.get(socket, "_parent")
  return transport instanceof Socket ? transport : undefined
}

/**
 * Lets the connections of `server` be retired: each one that was opened before then closes after the answer to its next
 * request. Cutting them would lose requests under way, and so would closing idle ones just as a client sends.
 */
export const retireableConnections = (server: HttpsServer): { readonly retire: () => void } => {
  // Kept by TCP connection, which exists before the handshake: a connection whose handshake is under way was accepted
  // under the old certificates too.
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
