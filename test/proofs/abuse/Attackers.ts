/** Attackers with many addresses: all of 127.0.0.0/8 is this machine. */
import { connect, type Socket } from "node:net"

/** The `index`th address of an attacker; never 127.0.0.1, the honest client's. */
export const addressOf = (index: number): string => `127.77.${(index >> 8) & 255}.${index & 255}`

/** Opens a connection from an address that stays half-open. Errors, such as resets, only close it. */
export const connectFrom = async (port: number, address: string): Promise<Socket> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress: address, allowHalfOpen: true })
  socket.on("error", () => undefined)
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve)
    socket.once("close", () => resolve())
  })
  return socket
}

/** Operations at once; more would overrun the server's backlog. */
const AT_ONCE = 100

/** Repeats an operation `count` times, a hundred at a time, and returns the results in order. */
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

/** Opens `count` connections, `perAddress` from each address, from the `from`th on. */
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

/** Writes `more` to each connection periodically, until stopped. */
export const trickle = (sockets: ReadonlyArray<Socket>, more: string, everyMs: number): (() => void) => {
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(more)
  }, everyMs)
  return () => clearInterval(timer)
}

/** Starts reading the socket, and returns all arriving text. */
export const listen = (socket: Socket): (() => string) => {
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
  })
  return () => text
}

/** Written bytes that the system has accepted. */
export const takenFrom = (socket: Socket): number => socket.bytesWritten - socket.writableLength
