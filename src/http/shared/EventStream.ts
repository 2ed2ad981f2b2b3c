/**
 * Writes server-sent events so that neither side can be held up for ever: while nothing is sent, a comment keeps the
 * connection alive; a reader that does not read fills a small buffer and is then given up.
 */
import { Cause, Clock, Duration, Effect, Queue, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { describeCause } from "../../domain/defect.ts"

/** How long nothing may be sent before a comment is. */
const KEEP_ALIVE = Duration.seconds(15)
/** How long a reader may leave the buffer full. */
const STALL_LIMIT = Duration.seconds(60)
/** Events that wait for a slow reader, beside what the socket buffers. */
const BUFFERED_EVENTS = 16

const COMMENT = ": keep-alive\n\n"

/** The reader did not read for {@link STALL_LIMIT}. The connection is cut, so that a part is not taken for the whole. */
class ReaderStalled extends Schema.TaggedError<ReaderStalled>()("ReaderStalled", {}) {}

/** One event (WHATWG HTML §9.2). `data` must not contain line breaks, which JSON text does not. */
export const renderEvent = (event: string, data: string, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`

/** The status was sent long ago, so what broke a stream would be known to nobody but its reader. */
const tell = (cause: Cause.Cause<ReaderStalled>): Effect.Effect<void> => {
  if (Cause.hasDies(cause)) return Effect.logError("stream failed", describeCause(cause))
  return Cause.hasFails(cause) ? Effect.logDebug("stream cut, because its reader stalled") : Effect.void
}

/** Renders events into a stream of bytes with keep-alives, bounded in memory whatever the reader does. */
const bufferEvents = (events: Stream.Stream<string>): Stream.Stream<string, ReaderStalled> =>
  Stream.callback<string, ReaderStalled>(
    Effect.fnUntraced(function* (queue) {
      const clock = yield* Clock.Clock
      let lastSent = clock.currentTimeMillisUnsafe()
      const sent = () => {
        lastSent = clock.currentTimeMillisUnsafe()
      }
      const wait = (text: string) =>
        Queue.offer(queue, text).pipe(
          Effect.timeoutOrElse({ duration: STALL_LIMIT, orElse: () => Effect.fail(new ReaderStalled()) }),
          Effect.map(sent),
        )
      // Only a full buffer is worth a timer; the usual case is one synchronous step per event.
      const send = (text: string): Effect.Effect<void, ReaderStalled> =>
        Effect.suspend(() => (Queue.offerUnsafe(queue, text) ? Effect.sync(sent) : wait(text)))
      const keepAlive = Effect.suspend(() => {
        const left = Duration.toMillis(KEEP_ALIVE) - (clock.currentTimeMillisUnsafe() - lastSent)
        return left > 0 ? Effect.sleep(left) : send(COMMENT)
      }).pipe(Effect.forever)
      yield* Stream.runForEach(events, send).pipe(
        Effect.raceFirst(keepAlive),
        Effect.matchCauseEffect({
          onSuccess: () => Queue.end(queue),
          onFailure: (cause) => Effect.andThen(tell(cause), Queue.failCause(queue, cause)),
        }),
        Effect.forkScoped,
      )
    }),
    { bufferSize: BUFFERED_EVENTS },
  )

/** An event stream as a response. It ends cleanly only when `events` does. */
export const eventStreamResponse = (events: Stream.Stream<string>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(Stream.encodeText(bufferEvents(events)), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" },
  })
