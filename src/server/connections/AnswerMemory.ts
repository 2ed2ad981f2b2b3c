/**
 * Bounds the memory of all answers that wait for their readers. Each connection has one answer at a time, but those of
 * all connections together may exceed what the machine has.
 */
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { subscriberOf } from "../../domain/access/ipAddress.ts"
import { makeShares } from "../../domain/access/shares.ts"

interface AnswerMemory {
  /** Watches one answer, from before its first byte. */
  readonly watch: (socket: Socket, response: ServerResponse) => void
  /** Checks now how much waits on these connections. */
  readonly look: (sockets: Iterable<Socket>) => void
}

/**
 * Lets answers of `maxBytes` together wait. When there are more, connections are cut: of the client for whom most
 * waits, the one that has been behind for longest.
 */
export const makeAnswerMemory = (maxBytes: number): AnswerMemory => {
  const waiting = makeShares<Socket>()
  // The address is remembered, because a closed connection no longer has it.
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
    // Some may have been read since they were checked last.
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
