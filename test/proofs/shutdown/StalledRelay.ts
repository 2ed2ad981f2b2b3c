/** A relay to a server that a test can cut: it then refuses connections or drops all traffic silently. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"

export const makeStalledRelay = (host: string, port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const { promise: connected, resolve: arrived } = Promise.withResolvers<void>()
      let silent = false
      const server = createServer((socket) => {
        arrived()
        sockets.add(socket)
        socket.on("error", () => socket.destroy())
        if (silent) return void socket.pause()
        const onward = connect(port, host)
        sockets.add(onward)
        onward.on("error", () => socket.destroy())
        onward.on("close", () => socket.destroy())
        socket.on("close", () => onward.destroy())
        socket.pipe(onward).pipe(socket)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return {
        // `address()` is a string only for pipes.
        port: (server.address() as AddressInfo).port,
        /** Resolves with the first connection. */
        connected,
        refuse: () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        },
        fallSilent: () => {
          silent = true
          for (const socket of sockets) socket.unpipe().pause()
        },
      }
    }),
    ({ refuse }) => Effect.sync(refuse),
  )
