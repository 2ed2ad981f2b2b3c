/** Seals a provider's stream, up to the end record and the terminal proof. */
import { Cause, Context, Effect, Fiber, Latch, Metric, Scope } from "effect"
import { logFault } from "../logFault.ts"
import type { Drain } from "../lifecycle/Drain.ts"
import type { Timer } from "../Timer.ts"
import type { Answering } from "./Answering.ts"
import type { Attestation } from "./Attestation.ts"
import { endingNow, endRecord, terminalProof, traced } from "./EndRecord.ts"
import type { ReadRequest } from "./readRequest.ts"
import type { Opened } from "./RequestOpener.ts"
import { notingDefects, problemOf } from "./sealedProblem.ts"
import { sealedResponses } from "./SealingMetrics.ts"
import { COMPLETE, type SealedEvent, StreamFrames } from "./StreamFrames.ts"

export interface Outlet {
  /** Whether the last write was passed on. Nothing more is sealed until it was. */
  readonly isReady: () => boolean
  readonly write: (events: ReadonlyArray<SealedEvent>) => void
  /** Ends the stream after the last write. */
  readonly end: () => void
  /** Breaks the stream off. */
  readonly fail: (defect: unknown) => void
}

interface StreamServices {
  readonly attestation: Pick<Attestation["Service"], "sign">
  readonly drain: Pick<Drain["Service"], "aborted">
  readonly answering: Pick<Answering["Service"], "stream">
}

/**
 * Calls `call` every `pace` milliseconds until `isOver` or the scope closes. Late ticks are made up for, one call each.
 * Returns a function that makes all overdue calls now.
 */
const everyTick = (timer: Timer, pace: number, call: () => void, isOver: () => boolean) =>
  Effect.suspend(() => {
    const begunAt = timer.now()
    let ticks = 1
    const nextAt = () => begunAt + ticks * pace
    const catchUp = (): void => {
      while (!isOver() && nextAt() <= timer.now()) {
        ticks += 1
        call()
      }
    }
    const wait = (): (() => void) =>
      timer.callAt(nextAt(), () => {
        catchUp()
        if (!isOver()) cancel = wait()
      })
    let cancel = wait()
    return Effect.as(
      Effect.addFinalizer(() => Effect.sync(() => cancel())),
      catchUp,
    )
  })

/**
 * Returns a function that begins the stream. It takes the outlet and returns a function to call whenever the outlet
 * becomes ready again. Every stream ends with an end record, also after a failure or a shutdown; if the scope closes
 * first, it is counted as abandoned. `answered` is called once no provider will be called again.
 *
 * The timer's callback (paced) or an arriving piece (unpaced) seals and writes frames: no fiber wakes for each token.
 */
export const sealStream = Effect.fnUntraced(function* (
  services: StreamServices,
  opened: Opened,
  asked: ReadRequest,
  timer: Timer,
  answered: () => void,
) {
  const context = yield* Effect.context<Scope.Scope>()
  const frames = new StreamFrames(opened.sealer, asked, context)
  yield* Scope.addFinalizer(
    Context.get(context, Scope.Scope),
    Effect.suspend(() => (frames.hasEnded ? Effect.void : Metric.update(sealedResponses("stream", "abandoned"), 1))),
  )

  return Effect.fnUntraced(function* (outlet: Outlet) {
    /** Open while the provider may be read. */
    const room = Latch.makeUnsafe(true)
    /** Opens once all data frames were written. */
    const finalIsNext = Latch.makeUnsafe(false)
    const { fail, hasFailed, orFail } = breakingOff(outlet, context)
    const send = orFail(() => {
      while (!frames.hasEnded && outlet.isReady()) {
        if (frames.isFinalNext) return void finalIsNext.openUnsafe()
        const next = frames.next()
        if (next.length === 0) return
        outlet.write(next)
        // After the write, because the fiber that waits for room resumes within this call.
        if (frames.hasRoom) room.openUnsafe()
      }
    })
    const tick = orFail(() => {
      frames.tick()
      if (frames.hasRoom) room.openUnsafe()
      send()
    })
    const catchUp = frames.isPaced
      ? yield* everyTick(timer, asked.pace, tick, () => frames.hasEnded || hasFailed())
      : undefined
    /** Makes the overdue ticks first: an event belongs to the tick after its arrival, however busy the process was. */
    const arrive = (take: () => void): void => {
      catchUp?.()
      take()
      if (catchUp === undefined) send()
    }
    const finish = sealEnd(services.attestation, opened, asked, frames).pipe(
      Effect.map((last) => {
        outlet.write(last)
        outlet.end()
      }),
      Effect.catchDefect((defect) => Effect.sync(() => fail(defect))),
      Effect.uninterruptible,
    )

    const serving = yield* receive(services.answering, asked, frames, room, arrive).pipe(
      Effect.andThen(() => {
        answered()
        return finalIsNext.await
      }),
      Effect.andThen(finish),
      Effect.forkScoped,
    )
    const abort = Effect.gen(function* () {
      // First, because the receipt names the provider called last, and until here another may be called.
      yield* Fiber.interrupt(serving)
      if (frames.hasEnded || hasFailed()) return
      orFail(() => frames.stop())()
      send()
      yield* finalIsNext.await
      yield* finish
    })
    yield* Effect.forkScoped(Effect.catch(services.drain.aborted, () => abort))
    return send
  })
})

/** Breaks the stream off at its first defect, and logs it: the status was sent long ago. */
const breakingOff = (outlet: Outlet, context: Context.Context<never>) => {
  let failed = false
  const fail = (defect: unknown): void => {
    failed = true
    Effect.runForkWith(context)(logFault("stream failed", Cause.die(defect)))
    outlet.fail(defect)
  }
  const orFail = (act: () => void) => (): void => {
    if (failed) return
    try {
      act()
    } catch (defect) {
      fail(defect)
    }
  }
  return { fail, orFail, hasFailed: () => failed }
}

/** Calls the provider and adds its events to `frames`, no faster than `room` allows. Failures become the outcome. */
const receive = (
  answering: StreamServices["answering"],
  asked: ReadRequest,
  frames: StreamFrames,
  room: Latch.Latch,
  arrive: (take: () => void) => void,
) =>
  Effect.flatMap(asked.admit, ({ caller, request }) =>
    answering
      .stream({ caller, request: { ...request, onAttempt: frames.calls.recordAttempt } }, (events) => {
        arrive(() => {
          for (const event of events) frames.add(event)
        })
        if (frames.hasRoom) return Effect.void
        room.closeUnsafe()
        return room.await
      })
      .pipe(Effect.ensuring(Effect.sync(() => request.body.overwrite()))),
  ).pipe(
    Effect.map(({ served }) => arrive(() => frames.complete(served))),
    notingDefects,
    Effect.catch((error) =>
      Effect.sync(() =>
        arrive(() => {
          frames.outcome = { status: "failed", error }
        }),
      ),
    ),
  )

/** Seals the end record as the final frame, and signs the proof. */
const sealEnd = Effect.fnUntraced(function* (
  attestation: StreamServices["attestation"],
  opened: Opened,
  asked: ReadRequest,
  frames: StreamFrames,
) {
  const { error, status } = frames.outcome ?? COMPLETE
  const endedAt = yield* endingNow(opened)
  const record = endRecord(attestation, {
    opened,
    endedAt,
    requestId: asked.requestId,
    form: "stream",
    status,
    served: frames.calls.served,
    problem: error === undefined ? undefined : yield* traced(problemOf(error)),
  })
  const last = frames.seal(record, true)
  yield* Metric.update(sealedResponses("stream", status), 1)
  return [last, { _tag: "Proof", proof: terminalProof(attestation, opened, endedAt) }] as const
})
