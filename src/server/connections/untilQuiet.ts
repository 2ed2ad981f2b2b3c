import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import { setImmediate, setTimeout } from "node:timers/promises"
import { Effect } from "effect"

/** A listener closes once no request has come for this long, in milliseconds. */
const QUIET_MS = 500
/** How long to wait for that. */
const AT_MOST_MS = 2000

/**
 * Runs `drain`, then waits until no request comes any more. Meanwhile each answer closes its connection. Otherwise a balancer
 * may send a request over a kept connection just as the server closes it, and must not send it again.
 */
export const untilQuiet = Effect.fnUntraced(function* (server: Server | HttpsServer, drain: Effect.Effect<void>) {
  let last = performance.now()
  server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) => {
    last = performance.now()
    response.shouldKeepAlive = false
  })
  yield* drain
  const end = performance.now() + AT_MOST_MS
  // Real time: sockets ignore a test's clock.
  yield* Effect.promise(async () => {
    for (;;) {
      const remaining = Math.min(last + QUIET_MS, end) - performance.now()
      if (remaining <= 0) return
      await setTimeout(remaining)
      // A process that was busy now reads what has arrived.
      await setImmediate()
    }
  })
})
