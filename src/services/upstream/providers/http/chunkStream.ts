/** Reads a streamed answer: from the text of server-sent events to pieces, and to a reliable end. */
import {
  Array as Arr,
  Cause,
  Channel,
  Clock,
  Duration,
  Effect,
  Exit,
  Predicate,
  type Pull,
  Result,
  Scope,
  Stream,
} from "effect"
import { Sse } from "effect/encoding"
import type { JsonObject } from "../../../../domain/json/json.ts"
import type { ProviderFailure, StreamWatch } from "../../Provider.ts"
import { answerJson } from "./answerJson.ts"
import { reportsError } from "./ErrorBody.ts"
import { failureOfEvent } from "./errorFailures.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import type { Limits } from "../shared/Limits.ts"
import type { Body, EventsBody, JsonBody, Texts } from "./ResponseBody.ts"
import type { EventReader } from "../shared/WireFormat.ts"

/**
 * How long a finished answer waits, in milliseconds, for what providers send right after it, such as its usage, unless
 * they say that nothing follows.
 */
const FINISH_GRACE = 500

/** How long the rest of a finished response may take. After that, its connection is closed instead of reused. */
const DRAIN_GRACE = Duration.millis(500)

/** A response, and how it is read. */
export interface Answer<Piece> {
  readonly body: Body
  readonly reader: EventReader<Piece>
  /** The one piece of a whole answer that came where a stream was asked for. */
  readonly whole: (body: JsonBody) => Result.Result<Piece, ProviderFailure>
}

/** How answers are read, whatever is in them. */
export interface Reading {
  readonly limits: Limits
  readonly watch?: StreamWatch | undefined
  /** What becomes of a failure before anybody hears of it. */
  readonly clean: (found: ProviderFailure) => ProviderFailure
}

type Pieces<Piece> = Pull.Pull<Arr.NonEmptyReadonlyArray<Piece>, ProviderFailure>

/**
 * The pieces of the response that `open` gets. When the stream ends, so does the connection: at once if the answer is not
 * finished, else after a moment for the rest of the response.
 */
export const chunkStream = <Piece extends JsonObject>(
  open: Effect.Effect<Answer<Piece>, ProviderFailure, Scope.Scope>,
  reading: Reading,
): Stream.Stream<Piece, ProviderFailure> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) => {
      const connection = Scope.makeUnsafe()
      let close: Effect.Effect<void> = Scope.close(connection, Exit.void)
      const first = Effect.flatMap(
        Effect.mapError(Scope.provide(open, connection), reading.clean),
        ({ body, reader, whole }): Pieces<Piece> => {
          if (body._tag === "Json") {
            rest = Cause.done()
            return Effect.fromResult(Result.mapBoth(whole(body), { onFailure: reading.clean, onSuccess: Arr.of }))
          }
          close = Effect.suspend(() => closeAfter(body, reader, connection))
          rest = eventPieces(body.texts, reader, reading)
          return rest
        },
      )
      let rest: Pieces<Piece> = first
      return Effect.as(
        Scope.addFinalizer(
          scope,
          Effect.suspend(() => close),
        ),
        Effect.suspend(() => rest),
      )
    }),
  )

/**
 * How the pieces in the events in `texts` are pulled. They succeed only once `reader` says that the answer is finished, and
 * then soon, whatever the connection does; an end or a break before that is `truncated`.
 */
export const eventPieces = <Piece extends JsonObject>(
  texts: Texts,
  reader: EventReader<Piece>,
  { clean, limits, watch }: Reading,
): Pieces<Piece> => {
  const parser = new EventParser(reader, limits, watch)
  let deadline: number | undefined
  const promptly = (now: number): Texts => {
    // Set once, so that comments which keep the connection alive do not prolong it.
    deadline ??= now + FINISH_GRACE
    return Effect.timeoutOrElse(texts, { duration: Math.max(0, deadline - now), orElse: () => Effect.undefined })
  }
  /** The next text, or the end if a finished answer has waited long enough for more. */
  const more = Effect.suspend(() => (isWhole(reader) ? Effect.flatMap(Clock.currentTimeMillis, promptly) : texts))
  const pull: Pieces<Piece> = Effect.suspend(() => {
    const ready = parser.take()
    if (ready !== undefined) {
      // Only usage comes without a choice, and is what was waited for.
      if (ready.some(({ choices }) => Array.isArray(choices) && choices.length > 0)) deadline = undefined
      return Effect.succeed(ready)
    }
    if (parser.failure !== undefined) return Effect.fail(clean(parser.failure))
    return parser.closed ? Cause.done() : read
  })
  const read: Pieces<Piece> = Effect.matchCauseEffect(more, {
    onSuccess: (text): Pieces<Piece> => {
      if (text !== undefined) {
        parser.feed(text)
        return pull
      }
      if (parser.finish()) return pull
      if (reader.state !== "open") return Cause.done()
      return Effect.fail(
        clean(failure("truncated", "the answer ended before it was finished", { usage: reader.usage })),
      )
    },
    onFailure: (cause): Pieces<Piece> => {
      if (isWhole(reader)) return Cause.done()
      return Effect.failCause(Cause.map(cause, (found) => clean(withUsage(found, reader.usage))))
    },
  })
  return pull
}

/** Whether the answer is finished, however its connection ends. */
const isWhole = ({ state }: Pick<EventReader<unknown>, "state">): boolean => state === "finished" || state === "closed"

/**
 * Closes a connection, after what is left of a finished response, so that it can serve the next call. Detached, because
 * nobody waits for it: the answer is complete, and the time is bounded.
 */
const closeAfter = (
  { hasEnded, texts }: EventsBody,
  reader: EventReader<unknown>,
  connection: Scope.Closeable,
): Effect.Effect<void> => {
  const close = Scope.close(connection, Exit.void)
  if (hasEnded() || !isWhole(reader)) return close
  return Effect.repeat(texts, { until: (text) => text === undefined }).pipe(
    Effect.ignoreCause,
    Effect.timeoutOption(DRAIN_GRACE),
    Effect.andThen(close),
    Effect.forkDetach,
    Effect.asVoid,
  )
}

/** The last event of a stream in OpenAI's format. Proxies add it to streams of other formats. */
const SENTINEL = "[DONE]"

/** Takes text in and hands pieces out; the first failure ends it, after the pieces that came before. */
class EventParser<Piece> {
  failure: ProviderFailure | undefined
  private ready: Array<Piece> = []
  private events = 0
  private ended = false
  private atEnd = false
  private isReported = false
  /** Whether the answer was finished by events that could be read. */
  private whole = false
  private readonly parser: Sse.Parser
  private readonly reader: EventReader<Piece>
  private readonly limits: Limits
  private readonly watch: StreamWatch | undefined

  constructor(reader: EventReader<Piece>, limits: Limits, watch: StreamWatch | undefined) {
    this.reader = reader
    this.limits = limits
    this.watch = watch
    // A reconnection time, the other thing the parser reports, means nothing here: an answer cannot be resumed.
    this.parser = Sse.makeParser((event) => (event._tag === "Event" ? this.onEvent(event) : undefined), {
      maxEventSize: limits.eventChars,
    })
  }

  /** Whether nothing of use can follow. */
  get closed(): boolean {
    return this.ended || this.reader.state === "closed"
  }

  /** The pieces that are ready, if there are any. */
  take(): Arr.NonEmptyReadonlyArray<Piece> | undefined {
    const ready = this.ready
    if (!Arr.isArrayNonEmpty(ready)) return undefined
    this.ready = []
    return ready
  }

  feed(text: string): void {
    if (this.parser.feed(text) !== undefined) {
      this.fail(garbage(`an event of more than ${this.limits.eventChars} characters`))
    }
  }

  /**
   * Reads what came without the line breaks behind it, once, at the end of a response; returns whether there may be more to
   * hand out. Half an event is no event: the answer was cut there.
   */
  finish(): boolean {
    if (this.atEnd || this.closed) return false
    this.atEnd = true
    this.feed("\n\n")
    return true
  }

  private onEvent({ data, event }: Sse.Event): void {
    if (this.failure !== undefined || this.closed) return
    if (++this.events > this.limits.events)
      return this.fail(garbage(`a stream of more than ${this.limits.events} events`))
    const text = data.trim()
    if (text === SENTINEL) return this.end()
    const { thoughts, usage } = this.reader
    const read = this.read(text, event)
    if (this.reader.thoughts !== thoughts) this.watch?.thinking()
    if (this.reader.usage !== undefined && this.reader.usage !== usage) this.watch?.spent(this.reader.usage)
    if (Result.isFailure(read)) return this.fail(read.failure)
    this.ready.push(...read.success)
    this.whole = isWhole(this.reader)
  }

  /** The pieces in one event; none of one that holds nothing of the answer. */
  private read(text: string, event: string): Result.Result<ReadonlyArray<Piece>, ProviderFailure> {
    if (text === "") return Result.succeed([])
    const value = answerJson(text)
    if (value === undefined) {
      if (event === ERROR_EVENT) return this.report({ error: text })
      if (this.atEnd) return Result.fail(failure("truncated", "the answer broke off within an event"))
      // What has a name of its own and does not even begin like a piece of an answer is none that came out garbled.
      if (event !== DEFAULT_EVENT && !text.startsWith("{")) return Result.succeed([])
      return Result.fail(garbage("an event is not JSON"))
    }
    if (value === null) return Result.succeed([])
    if (reportsError(value)) return this.report(value)
    if (event === ERROR_EVENT) return this.report({ error: value })
    if (!Predicate.isReadonlyObject(value)) return Result.fail(garbage("an event is not a JSON object"))
    return this.reader.read(value, event)
  }

  private end(): void {
    if (this.reader.close()) this.ended = true
    else this.fail(failure("unfinished", "the provider closed the stream without a finish reason"))
  }

  /** The failure that the provider itself reports. */
  private report(body: unknown): Result.Result<never, ProviderFailure> {
    this.isReported = true
    return Result.fail(failureOfEvent(body))
  }

  /**
   * The first failure counts, with the tokens that were spent. Behind a finished answer, only an error that the provider
   * reports counts: it takes the finish back. Anything else is merely the end.
   */
  private fail(found: ProviderFailure): void {
    if (this.whole && !this.isReported) this.ended = true
    else this.failure ??= withUsage(found, this.reader.usage)
  }
}

const ERROR_EVENT = "error"
/** The type of an event that names none. */
const DEFAULT_EVENT = "message"
