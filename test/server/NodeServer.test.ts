import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runProxy } from "../support/processes.ts"

const SOMAXCONN = "/proc/sys/net/core/somaxconn"
const COUNT = 1000

/** Most connections that the system holds for a server. */
const MOST = Number(existsSync(SOMAXCONN) ? readFileSync(SOMAXCONN, "utf8") : 0)
if (MOST < COUNT) console.warn(`skipped: a burst of connections (it needs ${COUNT} in ${SOMAXCONN})`)

describe.runIf(MOST >= COUNT)("a server", () => {
  it.live("loses no connection of a burst while it is busy", () =>
    Effect.gen(function* () {
      const { kill, url } = yield* runProxy()
      kill("SIGSTOP")
      const { hostname, port } = new URL(url)
      const sockets = Array.from({ length: COUNT }, () => connect(Number(port), hostname))
      yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
      // The system completes connections alone, up to the length of its queue.
      yield* Effect.promise(() => Promise.all(sockets.map((socket) => once(socket, "connect"))))
    }),
  )
})
