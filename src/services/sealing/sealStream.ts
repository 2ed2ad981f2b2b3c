/** A provider's stream as sealed events, up to the end record and the terminal proof. */
import { Context, Effect, Fiber, Latch, Metric, Scope, Stream } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import type { RawObject } from "../../domain/json/rawObject.ts"
import { floorOf, UNPACED } from "../../domain/protocol/pace.ts"
import type { EndStatus } from "../../domain/protocol/transcript.ts"
import { type ApiEvent, UpstreamError } from "../../domain/upstream/upstream.ts"
import { Aborted, type Drain } from "../lifecycle/Drain.ts"
import type { Timer } from "../Timer.ts"
import type { Upstream } from "../upstream/Upstream.ts"
import type { Attestation } from "./Attestation.ts"
import { Backlog, FULL } from "./Backlog.ts"
import { CallLog } from "./CallLog.ts"
import { endingNow, endRecord, terminalProof, traced } from "./EndRecord.ts"
import type { Asked } from "./readRequest.ts"
import type { Opened } from "./SealedExchange.ts"
import { notingDefects, problemOf, type ServingError } from "./sealedProblem.ts"
import { framesSealed, sealedResponses } from "./SealingMetrics.ts"

/** One event of a sealed stream after its `open` event. */
export type SealedEvent =
  | { readonly _tag: "Frame"; readonly seq: number; readonly final: boolean; readonly ciphertext: Bytes }
  | { readonly _tag: "Proof"; readonly proof: string }

type Events = ReadonlyArray<SealedEvent>

/** What the events of a stream are written to. */
export interface Outlet {
  /** Whether what was written last has been passed on. Until then nothing more is sealed. */
  readonly isReady: () => boolean
  readonly write: (events: Events) => void
  /** Nothing follows. */
  readonly end: () => void
  /** The rest will never come. */
  readonly fail: (defect: unknown) => void
}

export interface StreamServices {
  readonly attestation: Pick<Attestation["Service"], "sign">
  readonly drain: Pick<Drain["Service"], "aborted">
  readonly upstream: Pick<Upstream["Service"], "events">
}

/** How a stream ends. */
interface Outcome {
  readonly status: EndStatus
  readonly error?: ServingError
}

/** How many frames that the transport was not ready for are sealed at once when it is. */
const MOST_AT_ONCE = 64

const COMPLETE: Outcome = { status: "complete" }
const ABORTED: Outcome = { status: "aborted", error: new Aborted() }

/**
 * How to begin a stream that is open already: whatever happens, its events say how it ended. One that does not come to its
 * end is counted as abandoned when the scope closes. `answered` is called once nothing more is asked of a provider. What beginning returns is to be called when the outlet is ready again.
 *
 * Frames are sealed and written right where the clock calls, or where a piece arrives, with no fiber to wake: what stands
 * between an arrival and its frame is paid for each token.
 */
export const sealStream = Effect.fnUntraced(function* (
  { attestation, drain, upstream }: StreamServices,
  opened: Opened,
  asked: Asked,
  timer: Timer,
  answered: () => void,
) {
  const context = yield* Effect.context<Scope.Scope>()
  const scope = Context.get(context, Scope.Scope)
  const { sealer } = opened
  const { pace } = asked
  const isPaced = pace !== UNPACED
  const floor = floorOf(pace)
  const backlog = new Backlog(asked.api, isPaced)
  /** Payloads of ticks that the transport has not taken yet, and their bytes. */
  const due: Array<Bytes> = []
  let dueBytes = 0
  const calls = new CallLog()
  const room = Latch.makeUnsafe(true)
  /** Opens once the answer is over and all of it was sent. */
  const isSent = Latch.makeUnsafe(false)
  let seq = 0
  let outcome: Outcome | undefined
  /** Whether the tick of the final frame has come. */
  let isOver = false
  let hasEnded = false

  /** What is not sent by a clock waits for its own frame, so that there is one for each arrival. */
  const hasRoom = () => (isPaced ? backlog.size + dueBytes <= FULL : backlog.isEmpty)
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

  const frame = (payload: Uint8Array, final: boolean): SealedEvent => {
    framesSealed.updateUnsafe(1, context)
    return { _tag: "Frame", seq: seq++, final, ciphertext: sealer.seal("stream", payload, final, floor) }
  }
  const dataFrame = (): SealedEvent => frame(backlog.take(), false)
  /** The frame of a tick, or the end: which of them depends on what has come, never on the transport. */
  const fallDue = (): void => {
    if (outcome !== undefined && backlog.isEmpty && seq + due.length > 0) {
      isOver = true
      return
    }
    const payload = backlog.take()
    due.push(payload)
    dueBytes += payload.length
  }
  const takeDue = (most: number): Array<SealedEvent> =>
    due.splice(0, most).map((payload) => {
      dueBytes -= payload.length
      return frame(payload, false)
    })

  const end = Effect.fnUntraced(function* ({ error, status }: Outcome) {
    const endedAt = yield* endingNow(opened)
    const record = endRecord(attestation, {
      opened,
      endedAt,
      requestId: asked.requestId,
      form: "stream",
      status,
      served: calls.served,
      problem: error === undefined ? undefined : yield* traced(problemOf(error)),
    })
    const last = frame(record, true)
    hasEnded = true
    yield* Metric.update(sealedResponses("stream", status), 1)
    const proof = terminalProof(attestation, opened, endedAt)
    return [last, { _tag: "Proof", proof }] satisfies Events
  })

  const begin = Effect.fnUntraced(function* (outlet: Outlet) {
    /** Seals what waits, if the last frame is gone. Returns whether more may wait. */
    const sendNext = (): boolean => {
      if (hasEnded || !outlet.isReady()) return false
      if (isPaced ? isOver && due.length === 0 : outcome !== undefined && backlog.isEmpty) {
        isSent.openUnsafe()
        return false
      }
      if (isPaced ? due.length === 0 : backlog.isEmpty) return false
      outlet.write(isPaced ? takeDue(MOST_AT_ONCE) : [dataFrame()])
      // Last, because it goes on at once.
      if (hasRoom()) room.openUnsafe()
      return true
    }
    const trying = (act: () => void) => (): void => {
      try {
        act()
      } catch (defect) {
        outlet.fail(defect)
      }
    }
    const send = trying(() => {
      while (sendNext());
    })
    const tick = trying(() => {
      if (isOver) return
      fallDue()
      if (hasRoom()) room.openUnsafe()
      send()
    })
    const sendUnpaced = isPaced ? () => undefined : send

    let body: RawObject | undefined
    const listen = Effect.flatMap(asked.request, (request) => {
      body = request.body
      return Stream.runForEachArray(upstream.events({ ...request, onAttempt: calls.note }), (events) => {
        for (const event of events) hear(event)
        sendUnpaced()
        if (hasRoom()) return Effect.void
        room.closeUnsafe()
        return room.await
      })
    }).pipe(
      // A provider whose stream ends without a finish has not answered.
      Effect.andThen(() =>
        outcome === undefined ? Effect.fail(new UpstreamError({ code: "upstream-truncated" })) : Effect.void,
      ),
      notingDefects,
      Effect.catch((error) =>
        Effect.sync(() => {
          outcome = { status: "failed", error }
          sendUnpaced()
        }),
      ),
    )
    const finish = (how: Outcome) =>
      Effect.map(end(how), (last) => {
        outlet.write(last)
        outlet.end()
      }).pipe(Effect.catchDefect((defect) => Effect.sync(() => outlet.fail(defect))))

    const serving = yield* listen.pipe(
      Effect.andThen(() => {
        body?.overwrite()
        answered()
        return isSent.await
      }),
      Effect.andThen(Effect.suspend(() => Effect.uninterruptible(finish(outcome ?? COMPLETE)))),
      Effect.forkScoped,
    )
    /** The rest is sent at once when the proxy is shutting down. */
    const lastWords = Effect.gen(function* () {
      // Who was called last is known only now.
      yield* Fiber.interrupt(serving)
      if (hasEnded) return
      // One tick more: the number of frames must not tell how much is left out.
      if (isPaced && !isOver) fallDue()
      // Written in the step that seals it: a tick in between would write what it seals first.
      const left = takeDue(due.length)
      if (!isPaced) while (!backlog.isEmpty) left.push(dataFrame())
      if (left.length > 0) outlet.write(left)
      yield* finish(backlog.isEmpty ? (outcome ?? ABORTED) : ABORTED)
    })
    yield* Effect.forkScoped(Effect.catch(drain.aborted, () => lastWords))
    if (isPaced) yield* beat(tick)
    return send
  })

  /** Calls at each tick, until the scope closes. Ticks that passed meanwhile are made up for. */
  const beat = (call: () => void): Effect.Effect<void, never, Scope.Scope> =>
    Effect.suspend(() => {
      const openedAt = timer.now()
      let tick = 0
      const next = () => {
        tick += 1
        return timer.callAt(openedAt + tick * pace, () => {
          call()
          if (!hasEnded) cancel = next()
        })
      }
      let cancel = next()
      return Scope.addFinalizer(
        scope,
        Effect.sync(() => cancel()),
      )
    })

  yield* Scope.addFinalizer(
    scope,
    Effect.suspend(() => (hasEnded ? Effect.void : Metric.update(sealedResponses("stream", "abandoned"), 1))),
  )
  return begin
})
