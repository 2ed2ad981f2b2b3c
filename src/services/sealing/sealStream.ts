/** A provider's stream as sealed events, up to the end record and the terminal proof. */
import { Array, Cause, Effect, Fiber, Latch, Metric, type Pull, Stream } from "effect"
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
import type { Ticker } from "./Ticker.ts"

/** One event of a sealed stream after its `open` event. */
export type SealedEvent =
  | { readonly _tag: "Frame"; readonly seq: number; readonly final: boolean; readonly ciphertext: Bytes }
  | { readonly _tag: "Proof"; readonly proof: string }

type Events = Array.NonEmptyReadonlyArray<SealedEvent>

/** How a stream ends. */
interface Outcome {
  readonly status: EndStatus
  readonly error?: ServingError
}

const COMPLETE: Outcome = { status: "complete" }
const ABORTED: Outcome = { status: "aborted", error: new Aborted() }

/**
 * How to begin a stream that is open already, and to pull its events: whatever happens, they say how it ended. One that is
 * not read to its end is counted as abandoned when the scope closes.
 *
 * One fiber hears the provider, another one pulls, and they wake each other directly: what stands between an arrival and
 * its frame is paid for each token.
 */
export const sealStream = Effect.fnUntraced(function* (opened: Opened, asked: Asked, ticker: Ticker) {
  const upstream = yield* Upstream
  const drain = yield* Drain
  const context = yield* Effect.context<Attestation>()
  const { sealer } = opened
  const { pace } = asked
  const isPaced = pace !== UNPACED
  const floor = floorOf(pace)
  const backlog = new Backlog(asked.api)
  const calls = new CallLog()
  const room = Latch.makeUnsafe(true)
  let seq = 0
  let outcome: Outcome | undefined
  let isAborted = false
  let hasEnded = false
  /** Wakes who waits for the next events. */
  let wake: (() => void) | undefined

  /** What is not sent by a clock waits for its own frame, so that there is one for each arrival. */
  const hasRoom = () => (isPaced ? !backlog.isFull : backlog.isEmpty)
  const hear = (event: ApiEvent): void => {
    calls.hear(event)
    if (event._tag === "Delta") backlog.add(event.chunk)
    else if (event._tag === "Restarted") {
      const { _tag: _, ...restart } = event
      backlog.startOver(restart)
    } else {
      backlog.end()
      outcome = COMPLETE
    }
  }

  const listen = Effect.flatMap(asked.request, (request) =>
    Stream.runForEachArray(upstream.events({ ...request, onAttempt: calls.note }), (events) => {
      for (const event of events) hear(event)
      if (!isPaced) wake?.()
      if (hasRoom()) return Effect.void
      room.closeUnsafe()
      return room.await
    }),
  ).pipe(
    // A provider whose stream ends without a finish has not answered.
    Effect.andThen(() =>
      outcome === undefined ? Effect.fail(new UpstreamError({ code: "upstream-truncated" })) : Effect.void,
    ),
    notingDefects,
    Effect.catch((error) =>
      Effect.sync(() => {
        outcome = { status: "failed", error }
        if (!isPaced) wake?.()
      }),
    ),
  )

  const frame = (payload: Uint8Array, final: boolean): SealedEvent => {
    framesSealed.updateUnsafe(1, context)
    return { _tag: "Frame", seq: seq++, final, ciphertext: sealer.seal("stream", payload, final, floor) }
  }
  const dataFrame = (): SealedEvent => {
    const data = frame(backlog.take(isPaced), false)
    if (hasRoom()) room.openUnsafe()
    return data
  }

  const end = Effect.fnUntraced(
    function* ({ error, status }: Outcome) {
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
      hasEnded = true
      yield* Metric.update(sealedResponses("stream", status), 1)
      const proof = yield* terminalProof(opened, endedAt)
      return [last, { _tag: "Proof", proof }] satisfies Events
    },
    // Whoever pulls has neither the services nor the trace of the request.
    Effect.provide(context),
  )

  const due = Effect.suspend((): Effect.Effect<Events> => {
    const isOver = outcome !== undefined && backlog.isEmpty && (seq > 0 || !isPaced)
    return isOver ? end(outcome ?? COMPLETE) : Effect.succeed([dataFrame()])
  })
  const begin = Effect.gen(function* () {
    const openedAt = ticker.now()
    const listening = yield* Effect.forkScoped(listen)
    yield* drain.aborted.pipe(
      Effect.catch(() =>
        Effect.sync(() => {
          isAborted = true
          wake?.()
        }),
      ),
      Effect.forkScoped,
    )
    /** The rest is sent at once when the proxy is shutting down. */
    const lastWords = Effect.gen(function* () {
      // Who was called last is known only now.
      yield* Fiber.interrupt(listening)
      const left = isPaced && seq === 0 ? [dataFrame()] : []
      while (!backlog.isEmpty) left.push(dataFrame())
      return Array.appendAll(left, yield* end(outcome ?? ABORTED))
    })
    let tick = 0
    // All in one step: a fiber may pause between two effects, and what came between a look and the wait would wake nobody.
    const pull: Pull.Pull<Events> = Effect.callback((resume) => {
      if (hasEnded) return resume(Cause.done())
      if (isAborted) return resume(lastWords)
      if (!isPaced && (outcome !== undefined || !backlog.isEmpty)) return resume(due)
      // Ticks that passed while the last frame was being sent are skipped.
      if (isPaced) tick = Math.max(tick, Math.floor((ticker.now() - openedAt) / pace)) + 1
      const forget = () => {
        wake = undefined
        cancel?.()
      }
      wake = () => {
        forget()
        resume(isAborted ? lastWords : due)
      }
      const cancel = isPaced ? ticker.callAt(openedAt + tick * pace, wake) : undefined
      return Effect.sync(forget)
    })
    return pull
  })

  yield* Effect.addFinalizer(() => (hasEnded ? Effect.void : Metric.update(sealedResponses("stream", "abandoned"), 1)))
  return begin
})
