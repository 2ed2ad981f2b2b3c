/** Strangers with as many addresses as they like: all of 127.0.0.0/8 is this machine. */
import { connect, type Socket } from "node:net"

/** The `index`th address of an attacker; none of them is 127.0.0.1, which is the honest client's. */
export const addressOf = (index: number): string => `127.77.${(index >> 8) & 255}.${index & 255}`

/** A connection from an address, which gives up no half of it by itself. Errors, such as resets, only close it. */
export const connectFrom = async (port: number, address: string): Promise<Socket> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress: address, allowHalfOpen: true })
  socket.on("error", () => undefined)
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve)
    socket.once("close", () => resolve())
  })
  return socket
}

/** How many things are begun at the same time; more would only overrun the server's backlog. */
const AT_ONCE = 100

/** Does something `count` times, a hundred at a time, and gives the results in order. */
export const inParallel = async <A>(count: number, each: (index: number) => Promise<A>): Promise<ReadonlyArray<A>> => {
  const results: Array<A> = []
  let next = 0
  const work = async () => {
    while (next < count) {
      const index = next++
      results[index] = await each(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, work))
  return results
}

/** `count` connections, `perAddress` from each address, counted from the `from`th. */
export const manyConnections = (
  port: number,
  count: number,
  perAddress: number,
  from = 0,
): Promise<ReadonlyArray<Socket>> =>
  inParallel(count, (index) => connectFrom(port, addressOf(from + Math.floor(index / perAddress))))

export const destroyAll = (sockets: ReadonlyArray<Socket>): void => {
  for (const socket of sockets) socket.destroy()
}

/** Writes `more` to each of them now and then, whatever the server says, until stopped. */
export const trickle = (sockets: ReadonlyArray<Socket>, more: string, everyMs: number): (() => void) => {
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(more)
  }, everyMs)
  return () => clearInterval(timer)
}

/** Everything that arrives, as text. The socket is read from now on. */
export const listen = (socket: Socket): (() => string) => {
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
  })
  return () => text
}

/** Bytes of what was written that the system has taken. */
export const takenFrom = (socket: Socket): number => socket.bytesWritten - socket.writableLength
