/** Limits the memory of all unread answers together. Each connection has one at a time, but there are many connections. */
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { subscriberOf } from "../../domain/access/ipAddress.ts"
import { makeShares } from "../../domain/access/shares.ts"

interface AnswerMemory {
  /** Watches an answer that has not begun. */
  readonly watch: (socket: Socket, response: ServerResponse) => void
  /** Measures the unread bytes of these connections, and cuts connections if all together have too many. */
  readonly update: (sockets: Iterable<Socket>) => void
}

/** Beyond `maxBytes`, cuts connections of the client with the most unread bytes, the one unread for longest first. */
export const makeAnswerMemory = (maxBytes: number): AnswerMemory => {
  const waiting = makeShares<Socket>()
  // The address is remembered, because a closed connection no longer has it.
  const clients = new WeakMap<Socket, string>()
  const clientOf = (socket: Socket): string => {
    const client = clients.get(socket) ?? subscriberOf(socket.remoteAddress ?? "unknown")
    clients.set(socket, client)
    return client
  }

  const record = (socket: Socket) =>
    waiting.record(clientOf(socket), socket, socket.destroyed ? 0 : socket.writableLength)

  const update = (sockets: Iterable<Socket>) => {
    for (const socket of sockets) record(socket)
    if (waiting.total() <= maxBytes) return
    // Some may have been read since the last check.
    for (const socket of waiting.holders()) record(socket)
    while (waiting.total() > maxBytes) {
      const socket = waiting.first()
      if (socket === undefined) return
      socket.destroy()
      record(socket)
    }
  }

  return {
    update,
    watch: (socket, response) => {
      response.once("prefinish", () => update([socket]))
      response.once("close", () => record(socket))
    },
  }
}
