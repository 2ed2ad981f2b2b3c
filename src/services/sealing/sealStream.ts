/** A provider's stream as sealed events, up to the end record and the terminal proof. */
import { type Array, Cause, Clock, Duration, Effect, Fiber, Latch, Metric, Stream } from "effect"
import type { Bytes } from "../../domain/bytes.ts"
import { floorOf, UNPACED } from "../../domain/pace.ts"
import type { EndStatus } from "../../domain/transcript.ts"
import { type ApiEvent, UpstreamError } from "../../domain/upstream.ts"
import { Aborted, Drain } from "../lifecycle/Drain.ts"
import { Upstream } from "../upstream/Upstream.ts"
import type { Attestation } from "./Attestation.ts"
import { Backlog } from "./Backlog.ts"
import { CallLog } from "./CallLog.ts"
import { endingNow, endRecord, terminalProof } from "./EndRecord.ts"
import type { Asked } from "./readRequest.ts"
import type { Opened } from "./SealedExchange.ts"
import { notingDefects, problemOf, type ServingError } from "./sealedProblem.ts"
import { framesSealed, sealedResponses } from "./SealingMetrics.ts"

/** One event of a sealed stream after its `open` event. */
export type SealedEvent =
  | { readonly _tag: "Frame"; readonly seq: number; readonly final: boolean; readonly ciphertext: Bytes }
  | { readonly _tag: "Proof"; readonly proof: string }

/** How a stream ends. */
interface Outcome {
  readonly status: EndStatus
  readonly error?: ServingError
}

const COMPLETE: Outcome = { status: "complete" }

const NANOS_PER_MS = 1_000_000

/**
 * The events of a stream that is open already: whatever happens, they say how it ended. One that is not read to its end is
 * counted as abandoned when the scope closes.
 */
export const sealStream = Effect.fnUntraced(function* (opened: Opened, asked: Asked) {
  const upstream = yield* Upstream
  const drain = yield* Drain
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const { sealer } = opened
  const { pace } = asked
  const floor = floorOf(pace)
  const backlog = new Backlog(asked.api)
  const calls = new CallLog()
  let seq = 0
  let ended = false
  yield* Effect.addFinalizer(() => (ended ? Effect.void : Metric.update(sealedResponses("stream", "abandoned"), 1)))

  const frame = (payload: Uint8Array, final: boolean): SealedEvent => {
    framesSealed.updateUnsafe(1, context)
    return { _tag: "Frame", seq: seq++, final, ciphertext: sealer.seal("stream", payload, final, floor) }
  }
  const dataFrame = () => frame(backlog.take(pace !== UNPACED), false)

  const end = Effect.fnUntraced(function* ({ error, status }: Outcome) {
    const endedAt = yield* endingNow(opened)
    const record = yield* endRecord({
      opened,
      endedAt,
      requestId: asked.requestId,
      form: "stream",
      status,
      served: calls.served,
      problem: error === undefined ? undefined : problemOf(error),
    })
    const last = frame(record, true)
    ended = true
    yield* Metric.update(sealedResponses("stream", status), 1)
    const proof = yield* terminalProof(opened, endedAt)
    const events: Array.NonEmptyReadonlyArray<SealedEvent> = [last, { _tag: "Proof", proof }]
    return events
  })

  /** Processes an event of the provider. Returns the outcome if it was the last one. */
  const hear = (event: ApiEvent): Outcome | undefined => {
    calls.hear(event)
    if (event._tag === "Delta") backlog.add(event.chunk)
    else if (event._tag === "Restarted") {
      const { _tag: _, ...restart } = event
      backlog.startOver(restart)
    } else {
      backlog.end()
      return COMPLETE
    }
    return undefined
  }

  const said = Stream.unwrap(
    Effect.map(asked.request, (request) => upstream.events({ ...request, onAttempt: calls.note })),
  ).pipe(
    // A provider whose stream ends without a finish has not answered.
    Stream.concat(Stream.fail(new UpstreamError({ code: "upstream-truncated" }))),
    Stream.takeUntil((event) => event._tag === "Finished"),
  )
  const failed = (error: ServingError): Outcome => ({
    status: error._tag === "Aborted" ? "aborted" : "failed",
    error,
  })

  /** Sends a frame for each arrival. */
  const atOnce = said.pipe(
    Stream.interruptWhen(drain.aborted),
    Stream.chunks,
    Stream.mapEffect((events) =>
      Effect.gen(function* () {
        const outcome = events.map(hear).find((outcome) => outcome !== undefined)
        const data = backlog.isEmpty ? [] : [dataFrame()]
        return outcome === undefined ? data : [...data, ...(yield* end(outcome))]
      }),
    ),
    Stream.flattenIterable,
    Stream.catchCause((cause) =>
      Stream.unwrap(
        notingDefects(Effect.failCause(cause)).pipe(
          Effect.catch((error) => end(failed(error))),
          Effect.map((events) => Stream.fromIterable(events)),
        ),
      ),
    ),
  )

  /** Sends a frame at each tick of the clock, whatever has arrived by then. */
  const atPace = Effect.gen(function* () {
    let outcome: Outcome | undefined
    const room = Latch.makeUnsafe(true)
    const listening = yield* said.pipe(
      Stream.runForEachArray((events) => {
        for (const event of events) outcome = hear(event) ?? outcome
        if (!backlog.isFull) return Effect.void
        room.closeUnsafe()
        return room.await
      }),
      notingDefects,
      Effect.catch((error) =>
        Effect.sync(() => {
          outcome = failed(error)
        }),
      ),
      Effect.forkScoped,
    )
    const openedAt = clock.currentTimeNanosUnsafe()
    const elapsed = () => Number(clock.currentTimeNanosUnsafe() - openedAt) / NANOS_PER_MS
    let tick = 0
    const sendData = () => {
      const sent = dataFrame()
      if (!backlog.isFull) room.openUnsafe()
      return sent
    }
    const pull = Effect.suspend(() => {
      if (ended) return Cause.done()
      // Ticks that passed while the last frame was being sent are skipped.
      tick = Math.max(tick, Math.floor(elapsed() / pace)) + 1
      return Effect.flatMap(
        Effect.sleep(Duration.millis(tick * pace - elapsed())),
        (): Effect.Effect<Array.NonEmptyReadonlyArray<SealedEvent>, never, Attestation> =>
          outcome !== undefined && backlog.isEmpty && seq > 0 ? end(outcome) : Effect.sync(() => [sendData()]),
      )
    })
    /** The rest is sent at once when the proxy is shutting down. */
    const lastWords = Effect.gen(function* () {
      // Who was called last is known only now.
      yield* Fiber.interrupt(listening)
      const left: globalThis.Array<SealedEvent> = seq === 0 ? [sendData()] : []
      while (!backlog.isEmpty) left.push(sendData())
      return Stream.fromIterable([...left, ...(yield* end(outcome ?? { status: "aborted", error: new Aborted() }))])
    })
    return Stream.fromPull(Effect.succeed(pull)).pipe(
      Stream.interruptWhen(drain.aborted),
      Stream.catch(() => Stream.unwrap(lastWords)),
    )
  })

  return pace === UNPACED ? atOnce : Stream.unwrap(atPace)
})
