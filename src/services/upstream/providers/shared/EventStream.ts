/** A streamed answer: from the bytes of server-sent events to chunks, and to an end that can be trusted. */
import { Array as Arr, Cause, Clock, Duration, Effect, Exit, Option, Pull, Result, Scope, Stream } from "effect"
import { Sse } from "effect/encoding"
import type { HttpClientResponse } from "effect/http"
import type { ChatChunk } from "../../../../domain/chat.ts"
import type { ProviderFailure, StreamWatch } from "../../Provider.ts"
import { failure, garbage, withUsage } from "./Failures.ts"
import type { Limits } from "./Limits.ts"
import type { ChunkReader } from "./WireFormat.ts"

/** How long a finished answer waits for its usage, which providers send right behind it. In milliseconds. */
const USAGE_GRACE = 500

/** How long the end of a finished response may take, before its connection is closed instead of used again. */
const DRAIN_GRACE = Duration.millis(500)

type Chunks = Arr.NonEmptyReadonlyArray<ChatChunk>

/**
 * The chunks of the response that `open` gets. The stream succeeds only once `reader` says that the answer is finished,
 * and then at once, whatever the connection does; an end or a break before that is `truncated`. When the stream ends,
 * so does the connection: at once if the answer is not finished, else after a moment for the rest of the response.
 */
export const chunkStream = (
  open: Effect.Effect<HttpClientResponse.HttpClientResponse, ProviderFailure, Scope.Scope>,
  reader: ChunkReader,
  limits: Limits,
  watch?: StreamWatch,
): Stream.Stream<ChatChunk, ProviderFailure> =>
  Stream.unwrap(
    Effect.gen(function* () {
      let rest: Pull.Pull<unknown, unknown> | undefined
      const connection = yield* Effect.acquireRelease(Scope.make(), (scope) =>
        rest === undefined || !isWhole(reader) ? Scope.close(scope, Exit.void) : drain(rest, scope),
      )
      const response = yield* Scope.provide(open, connection)
      const bytes = yield* Scope.provide(Stream.toPull(response.stream), connection)
      rest = bytes
      const intake = new Intake(reader, limits, watch)
      let deadline: number | undefined
      /** The next bytes, or the end if an answer that is finished has waited for them long enough. */
      const more = Effect.suspend(() => (isWhole(reader) ? Effect.flatMap(Clock.currentTimeMillis, promptly) : bytes))
      const promptly = (now: number) => {
        // Set once, so that what a server sends to keep a connection warm does not prolong it.
        deadline ??= now + USAGE_GRACE
        return Effect.flatMap(
          Effect.timeoutOption(bytes, Math.max(0, deadline - now)),
          Option.match({ onNone: () => Cause.done(), onSome: Effect.succeed }),
        )
      }
      const next: Pull.Pull<Chunks, ProviderFailure> = Effect.suspend(() => {
        const ready = intake.take()
        if (ready !== undefined) return Effect.succeed(ready)
        if (intake.failure !== undefined) return Effect.fail(intake.failure)
        if (reader.state === "closed") return Cause.done()
        return Pull.matchEffect(more, {
          onSuccess: (pieces) => {
            for (const piece of pieces) intake.feed(piece)
            return next
          },
          onFailure: (cause) =>
            Cause.hasInterrupts(cause)
              ? Effect.interrupt
              : end(reader, isWhole(reader), "the connection broke before the end"),
          onDone: () => end(reader, reader.state !== "open", "the answer ended before it was finished"),
        })
      })
      return Stream.fromPull(Effect.succeed(next))
    }),
  )

/** Whether the answer is finished, however its connection ends. */
const isWhole = ({ state }: ChunkReader): boolean => state === "finished" || state === "closed"

const end = (reader: ChunkReader, whole: boolean, how: string): Pull.Pull<never, ProviderFailure> =>
  whole ? Cause.done() : Effect.fail(failure("truncated", how, { usage: reader.usage }))

/**
 * Reads what is left of a finished response, so that its connection can serve the next call. Detached, because nobody
 * waits for it: the answer is complete, and the time is bounded.
 */
const drain = <A, E>(bytes: Pull.Pull<A, E>, connection: Scope.Closeable): Effect.Effect<void> =>
  bytes.pipe(
    Effect.forever,
    Effect.ignoreCause,
    Effect.timeoutOption(DRAIN_GRACE),
    Effect.andThen(Scope.close(connection, Exit.void)),
    Effect.forkDetach,
    Effect.asVoid,
  )

/** Takes bytes in and hands chunks out; the first failure ends it, after the chunks that came before. */
class Intake {
  failure: ProviderFailure | undefined
  private ready: Array<ChatChunk> = []
  private bytes = 0
  private events = 0
  private readonly decoder = new TextDecoder()
  private readonly parser: Sse.Parser
  private readonly reader: ChunkReader
  private readonly limits: Limits
  private readonly watch: StreamWatch | undefined

  constructor(reader: ChunkReader, limits: Limits, watch: StreamWatch | undefined) {
    this.reader = reader
    this.limits = limits
    this.watch = watch
    // A reconnection time, the other thing the parser reports, means nothing here: an answer cannot be resumed.
    this.parser = Sse.makeParser((event) => (event._tag === "Event" ? this.onEvent(event) : undefined), {
      maxEventSize: limits.eventChars,
    })
  }

  /** The chunks that are ready, if there are any. */
  take(): Chunks | undefined {
    const ready = this.ready
    if (!Arr.isArrayNonEmpty(ready)) return undefined
    this.ready = []
    return ready
  }

  feed(piece: Uint8Array): void {
    this.bytes += piece.length
    if (this.parser.feed(this.decoder.decode(piece, { stream: true })) !== undefined) {
      this.fail(garbage(`an event of more than ${this.limits.eventChars} characters`))
    }
    if (this.bytes > this.limits.responseBytes) {
      this.fail(garbage(`a stream of more than ${this.limits.responseBytes} bytes`))
    }
  }

  private onEvent({ data, event }: Sse.Event): void {
    if (this.failure !== undefined || this.reader.state === "closed") return
    if (++this.events > this.limits.events)
      return this.fail(garbage(`a stream of more than ${this.limits.events} events`))
    const { thoughts, usage } = this.reader
    const read = this.reader.read(data, event)
    if (this.reader.thoughts !== thoughts) this.watch?.thinking()
    if (this.reader.usage !== undefined && this.reader.usage !== usage) this.watch?.spent(this.reader.usage)
    if (Result.isSuccess(read)) this.ready.push(...read.success)
    else this.fail(read.failure)
  }

  /** The first failure counts, with the tokens that were spent; none does once the answer is finished. */
  private fail(found: ProviderFailure): void {
    if (!isWhole(this.reader)) this.failure ??= withUsage(found, this.reader.usage)
  }
}
