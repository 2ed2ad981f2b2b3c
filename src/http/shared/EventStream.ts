/** Writes server-sent events and late JSON. Keep-alives break long silences, and a slow reader slows its source down. */
import { Cause, Clock, Duration, Effect, Latch, Queue, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { logFault } from "../../services/logFault.ts"
import { momentOf } from "../../services/moments.ts"

/** Silence after which a keep-alive is sent. */
export const KEEP_ALIVE = Duration.seconds(15)
/** How many events may wait for a slow reader, besides those already written to the socket. */
const BUFFERED_EVENTS = 16
/** Characters of waiting events at which the source has to wait. One event may be longer. */
const BUFFERED_CHARACTERS = 64 * 1024

export const COMMENT = ": keep-alive\n\n"

/** Makes the server send the headers at once, so callers know that they are connected. */
export const OPENING = ": connected\n\n"

/** One event (WHATWG HTML §9.2). `data` must not contain line breaks, which JSON text does not. */
export const renderEvent = (event: string, data: string, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`

/** Logs a broken stream. Its status was sent long ago, so the log would not show the failure otherwise. */
const logFailure = (cause: Cause.Cause<never>): Effect.Effect<void> =>
  Cause.hasDies(cause) ? logFault("stream failed", cause) : Effect.void

/** Calls `comment` whenever nothing was sent for {@link KEEP_ALIVE}. `comment` must update the time `lastSent`. */
export const keepAlive = (lastSent: () => number, comment: () => void): Effect.Effect<never> =>
  Effect.clockWith((clock) =>
    Effect.suspend(() => {
      const left = Duration.toMillis(KEEP_ALIVE) - (momentOf(clock) - lastSent())
      if (left > 0) return Effect.sleep(left)
      comment()
      return Effect.void
    }).pipe(Effect.forever),
  )

/** The events with keep-alives, buffered within the limits. */
const bufferEvents = (events: Stream.Stream<string>, keptAliveBy: string): Stream.Stream<string> =>
  Stream.suspend(() => {
    const room = Latch.makeUnsafe(true)
    let waiting = 0
    const count = (characters: number) => {
      waiting += characters
      if (waiting < BUFFERED_CHARACTERS) room.openUnsafe()
      else room.closeUnsafe()
    }
    return Stream.mapArray(queueEvents(events, keptAliveBy, room, count), (texts) => {
      for (const text of texts) count(-text.length)
      return texts
    })
  })

const queueEvents = (
  events: Stream.Stream<string>,
  keptAliveBy: string,
  room: Latch.Latch,
  count: (characters: number) => void,
) =>
  Stream.callback<string>(
    Effect.fnUntraced(function* (queue) {
      const clock = yield* Clock.Clock
      let lastSent = momentOf(clock)
      const sent = () => {
        lastSent = momentOf(clock)
      }
      const send = (text: string) =>
        Effect.suspend(() => {
          count(text.length)
          return Effect.andThen(Queue.offer(queue, text), Effect.andThen(Effect.sync(sent), room.await))
        })
      const breakSilence = () => {
        // If the buffer is full, events keep the connection alive.
        if (Queue.offerUnsafe(queue, keptAliveBy)) count(keptAliveBy.length)
        sent()
      }
      yield* Stream.runForEach(events, send).pipe(
        Effect.raceFirst(keepAlive(() => lastSent, breakSilence)),
        Effect.matchCauseEffect({
          onSuccess: () => Queue.end(queue),
          onFailure: (cause) => Effect.andThen(logFailure(cause), Queue.failCause(queue, cause)),
        }),
        Effect.forkScoped,
      )
    }),
    { bufferSize: BUFFERED_EVENTS },
  )

const NOT_BUFFERED = { "cache-control": "no-store", "x-accel-buffering": "no" }

/** An event stream as a response, with `keptAliveBy` after each silence. It ends cleanly only when `events` does. */
export const eventStreamResponse = (
  events: Stream.Stream<string>,
  keptAliveBy = COMMENT,
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(Stream.encodeText(bufferEvents(events, keptAliveBy)), {
    contentType: "text/event-stream",
    headers: NOT_BUFFERED,
  })

/** White space that JSON text may begin with (RFC 8259 §2). */
const SPACE = "\n"

/** A JSON value that may take long. The headers are sent at once, and white space keeps the connection alive. */
export const laterJsonResponse = (value: Effect.Effect<object>): HttpServerResponse.HttpServerResponse => {
  const text = Effect.map(value, (found) => JSON.stringify(found))
  return HttpServerResponse.stream(
    Stream.encodeText(bufferEvents(Stream.concat(Stream.succeed(SPACE), Stream.fromEffect(text)), SPACE)),
    { contentType: "application/json", headers: NOT_BUFFERED },
  )
}
