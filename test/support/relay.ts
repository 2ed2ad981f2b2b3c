/** A relay between client and server that forwards and records every byte, in both directions. */
import { Effect } from "effect"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

interface Relay {
  readonly url: string
  /** Everything that passed so far, in both directions, as Latin-1 text. */
  readonly seen: () => string
}

/** Starts a relay to `port` of 127.0.0.1, until the scope closes. */
export const makeRelay = (port: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const pieces: Array<Buffer> = []
        const sockets = new Set<Socket>()
        const keep = (socket: Socket, other: Socket) => {
          sockets.add(socket)
          socket.on("data", (piece) => pieces.push(Buffer.from(piece)))
          socket.on("error", () => other.destroy())
          socket.on("close", () => other.destroy())
          socket.pipe(other)
        }
        const server = createServer((socket) => {
          const onward = connect(port, "127.0.0.1")
          keep(socket, onward)
          keep(onward, socket)
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, sockets, pieces }
      }),
      ({ server, sockets }) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              for (const socket of sockets) socket.destroy()
              server.close(() => resolve())
            }),
        ),
    ),
    ({ pieces, server }): Relay => ({
      // `address()` is a string only for pipes.
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      seen: () => Buffer.concat(pieces).toString("latin1"),
    }),
  )
