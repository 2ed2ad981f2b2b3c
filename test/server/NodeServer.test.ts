import { once } from "node:events"
import { connect } from "node:net"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runProxy } from "../support/processes.ts"

describe("a server", () => {
  it.live("loses no connection of a burst while it is busy", () =>
    Effect.gen(function* () {
      const { kill, url } = yield* runProxy()
      kill("SIGSTOP")
      const { hostname, port } = new URL(url)
      const sockets = Array.from({ length: 1000 }, () => connect(Number(port), hostname))
      yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
      // The system completes connections alone, up to the length of its queue.
      yield* Effect.promise(() => Promise.all(sockets.map((socket) => once(socket, "connect"))))
    }),
  )
})
