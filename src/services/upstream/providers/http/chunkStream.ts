/** Reads a streamed answer: from the text of server-sent events to pieces and a reliable end. */
import {
  Array as Arr,
  Cause,
  Channel,
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
import { thisMoment } from "../../../moments.ts"
import type { ProviderFailure, StreamWatch } from "../../Provider.ts"
import { answerJson } from "./answerJson.ts"
import { reportsError } from "./ErrorBody.ts"
import { failureOfEvent } from "./errorFailures.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import type { Limits } from "../shared/Limits.ts"
import type { Body, EventsBody, JsonBody, Texts } from "./ResponseBody.ts"
import type { EventReader } from "../shared/WireFormat.ts"

/** Milliseconds that a finished answer waits for late parts, unless nothing follows. */
const FINISH_GRACE = 500

/**
 * The same if usage is still missing, which OpenRouter sends some hundred milliseconds later. Without it, the cost is
 * unknown.
 */
const USAGE_GRACE = 2000

/** How long the rest of a finished response may take. After that, its connection is closed instead of reused. */
const DRAIN_GRACE = Duration.millis(500)

interface AnswerSource<Piece> {
  readonly body: Body
  readonly reader: EventReader<Piece>
  /** Converts a whole answer, sent in place of a stream, into one piece. */
  readonly whole: (body: JsonBody) => Result.Result<Piece, ProviderFailure>
}

export interface Reading {
  readonly limits: Limits
  readonly watch?: StreamWatch | undefined
  /** Cleans a failure before it is reported. */
  readonly clean: (found: ProviderFailure) => ProviderFailure
}

type Pieces<Piece> = Pull.Pull<Arr.NonEmptyReadonlyArray<Piece>, ProviderFailure>

/**
 * Streams the pieces of the response that `open` gets. The connection ends with the stream: at once if the answer is
 * not finished, otherwise after a moment, in which the rest of the response is read.
 */
export const chunkStream = <Piece extends JsonObject>(
  open: Effect.Effect<AnswerSource<Piece>, ProviderFailure, Scope.Scope>,
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
 * Pulls the pieces in the events in `texts`. The pull ends without failure only after `reader` says that the answer is
 * finished, and then soon, even if the connection stays open. An end or a break before that is `truncated`.
 */
export const eventPieces = <Piece extends JsonObject>(
  texts: Texts,
  reader: EventReader<Piece>,
  { clean, limits, watch }: Reading,
): Pieces<Piece> => {
  const parser = new EventParser(reader, limits, watch)
  let finishedAt: number | undefined
  const promptly = (now: number): Texts => {
    // Set once, so that keep-alive comments do not extend the wait.
    finishedAt ??= now
    const until = finishedAt + (reader.usage === undefined ? USAGE_GRACE : FINISH_GRACE)
    return Effect.timeoutOrElse(texts, { duration: Math.max(0, until - now), orElse: () => Effect.undefined })
  }
  /** The next text, or the end if a finished answer has waited long enough. */
  const more = Effect.suspend(() => (isWhole(reader) ? Effect.flatMap(thisMoment, promptly) : texts))
  const pull: Pieces<Piece> = Effect.suspend(() => {
    const ready = parser.take()
    if (ready !== undefined) {
      // Only the awaited usage comes without a choice.
      if (ready.some(({ choices }) => Array.isArray(choices) && choices.length > 0)) finishedAt = undefined
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

/** Whether the answer is finished, even if the connection then breaks. */
const isWhole = ({ state }: Pick<EventReader<unknown>, "state">): boolean => state === "finished" || state === "closed"

/** Closes a connection after the rest of a finished response, so that it can be used again. Detached and bounded. */
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

/** Turns text into pieces. The first failure ends it, after the pieces before it. */
class EventParser<Piece> {
  failure: ProviderFailure | undefined
  private ready: Array<Piece> = []
  private events = 0
  private ended = false
  private atEnd = false
  private isReported = false
  /** Whether events that could be read finished the answer. */
  private whole = false
  private readonly parser: Sse.Parser
  private readonly reader: EventReader<Piece>
  private readonly limits: Limits
  private readonly watch: StreamWatch | undefined

  constructor(reader: EventReader<Piece>, limits: Limits, watch: StreamWatch | undefined) {
    this.reader = reader
    this.limits = limits
    this.watch = watch
    // Ignores a reconnection time, the parser's other report: an answer cannot be resumed.
    this.parser = Sse.makeParser((event) => (event._tag === "Event" ? this.onEvent(event) : undefined), {
      maxEventSize: limits.eventChars,
    })
  }

  get closed(): boolean {
    return this.ended || this.reader.state === "closed"
  }

  /** Returns the pieces that are ready, if there are any. */
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

  /** Reads a last line without line break; half an event is a truncated answer. Returns whether more may come. */
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
    for (const piece of read.success) this.ready.push(piece)
    this.whole = isWhole(this.reader)
  }

  /** Returns the pieces in one event, or none if it holds nothing of the answer. */
  private read(text: string, event: string): Result.Result<ReadonlyArray<Piece>, ProviderFailure> {
    if (text === "") return Result.succeed([])
    const value = answerJson(text)
    if (value === undefined) {
      if (event === ERROR_EVENT) return this.report({ error: text })
      if (this.atEnd) return Result.fail(failure("truncated", "the answer broke off within an event"))
      // A named event that does not look like JSON is another kind of event and no garbled piece.
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

  private report(body: unknown): Result.Result<never, ProviderFailure> {
    this.isReported = true
    return Result.fail(failureOfEvent(body))
  }

  /**
   * Keeps the first failure, with the tokens that were spent. After a finished answer, only an error that the provider
   * reports counts, because it revokes the finish. Anything else is merely the end.
   */
  private fail(found: ProviderFailure): void {
    if (this.whole && !this.isReported) this.ended = true
    else this.failure ??= withUsage(found, this.reader.usage)
  }
}

const ERROR_EVENT = "error"
/** The type of an event without a name. */
const DEFAULT_EVENT = "message"
