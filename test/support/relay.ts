/** A relay between client and server: records every byte, in both directions, and can refuse or drop all traffic. */
import { connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"
import { portOf } from "./listening.ts"

/** Starts a relay to `port` of `host`, until the scope closes. */
export const makeRelay = (port: number, host = "127.0.0.1") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const pieces: Array<Buffer> = []
      const sockets = new Set<Socket>()
      const { promise: connected, resolve: arrived } = Promise.withResolvers<void>()
      let silent = false
      const forward = (from: Socket, to: Socket) => {
        sockets.add(from)
        from.on("data", (piece) => pieces.push(Buffer.from(piece)))
        from.on("error", () => to.destroy())
        from.on("close", () => to.destroy())
        from.pipe(to)
      }
      const server = createServer((socket) => {
        arrived()
        if (silent) {
          sockets.add(socket.on("error", () => socket.destroy()).pause())
          return
        }
        const onward = connect(port, host)
        forward(socket, onward)
        forward(onward, socket)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const own = portOf(server)
      return {
        url: `http://127.0.0.1:${own}`,
        port: own,
        /** Everything that passed so far, in both directions, as Latin-1 text. */
        seen: () => Buffer.concat(pieces).toString("latin1"),
        /** Resolves with the first connection. */
        connected,
        /** Ends all connections and takes no more. */
        refuse: () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        },
        /** Drops all traffic from now on, but keeps connections open. */
        fallSilent: () => {
          silent = true
          for (const socket of sockets) socket.unpipe().pause()
        },
      }
    }),
    ({ refuse }) => Effect.sync(refuse),
  )
