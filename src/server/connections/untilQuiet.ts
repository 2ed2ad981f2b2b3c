import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import { Clock, Duration, Effect } from "effect"

/** A listener closes once no request has come for this long. */
const QUIET = Duration.millis(250)
/** How long to wait for that. */
const AT_MOST = Duration.seconds(2)

/**
 * Runs `drain`, then returns once no request comes any more. Meanwhile each answer closes its connection. Without that, a
 * balancer may send a request over a kept connection just as the server closes it, and must not send it again.
 */
export const untilQuiet = Effect.fnUntraced(function* (server: Server | HttpsServer, drain: Effect.Effect<void>) {
  const clock = yield* Clock.Clock
  let last = clock.currentTimeMillisUnsafe()
  server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) => {
    last = clock.currentTimeMillisUnsafe()
    response.shouldKeepAlive = false
  })
  yield* drain
  const remaining = () => last + Duration.toMillis(QUIET) - clock.currentTimeMillisUnsafe()
  const quiet = Effect.whileLoop({
    while: () => remaining() > 0,
    body: () => Effect.sleep(remaining()),
    step: () => {},
  })
  yield* Effect.timeoutOption(quiet, AT_MOST)
})
