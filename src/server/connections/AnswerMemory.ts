/**
 * The memory of answers that wait for their readers, over all connections. Each connection has one answer at a time, but
 * what all connections have together is not what a machine has.
 */
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { subscriberOf } from "../../domain/ipAddress.ts"
import { makeShares } from "../../domain/shares.ts"

export interface AnswerMemory {
  /** Watches over one answer, from before it is begun. */
  readonly watch: (socket: Socket, response: ServerResponse) => void
  /** Looks at what waits on these connections now. */
  readonly look: (sockets: Iterable<Socket>) => void
}

/**
 * Lets answers of together `maxBytes` wait. More of them cut connections of whoever reads least: of the client for whom
 * most waits, the one that is behind for longest.
 */
export const makeAnswerMemory = (maxBytes: number): AnswerMemory => {
  const waiting = makeShares<Socket>()
  // A connection that was closed does not know any more where it came from.
  const clients = new WeakMap<Socket, string>()
  const clientOf = (socket: Socket): string => {
    const client = clients.get(socket) ?? subscriberOf(socket.remoteAddress ?? "unknown")
    clients.set(socket, client)
    return client
  }

  const see = (socket: Socket) => waiting.record(clientOf(socket), socket, socket.destroyed ? 0 : socket.writableLength)

  const look = (sockets: Iterable<Socket>) => {
    for (const socket of sockets) see(socket)
    if (waiting.total() <= maxBytes) return
    // Since they were last looked at, some may have been read.
    for (const socket of waiting.holders()) see(socket)
    while (waiting.total() > maxBytes) {
      const socket = waiting.first()
      if (socket === undefined) return
      socket.destroy()
      see(socket)
    }
  }

  return {
    look,
    watch: (socket, response) => {
      response.once("prefinish", () => look([socket]))
      response.once("close", () => see(socket))
    },
  }
}
