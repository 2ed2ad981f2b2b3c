/**
 * Calls back by the clock, for all paced streams together: a wheel with a slot for each millisecond, which one fiber turns.
 * A timer and a race in the fiber of each stream took longer than sealing its frame.
 */
import { Clock, Duration, Effect, type Fiber } from "effect"

/** More slots than the longest pace has milliseconds, so that those of a slot are nearly always due together. */
const SLOTS = 1024
const NANOS_PER_MS = 1_000_000

interface Entry {
  /** In whole milliseconds. */
  readonly due: number
  readonly call: () => void
}

export interface Ticker {
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number
  /** Calls once {@link now} has reached `at`. Returns how to take that back. */
  readonly callAt: (at: number, call: () => void) => () => void
}

/** A ticker, which stops when the scope closes. */
export const makeTicker = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const slots = Array.from({ length: SLOTS }, () => new Set<Entry>())
  const began = clock.monotonicTimeNanosUnsafe()
  const now = () => Number(clock.monotonicTimeNanosUnsafe() - began) / NANOS_PER_MS
  let entries = 0
  /** The first millisecond that was not turned over yet. */
  let next = 0
  let isTurning = false
  let sleeping: { readonly until: number; readonly fiber: Fiber.Fiber<void> } | undefined

  const slotOf = (millisecond: number): Set<Entry> => {
    const slot = slots[millisecond % SLOTS]
    if (slot === undefined) throw new Error(`no slot for ${millisecond} ms`)
    return slot
  }

  const sleepUntil = (until: number): void => {
    sleeping?.fiber.interruptUnsafe()
    const wait = Effect.suspend(() => clock.sleep(Duration.millis(Math.max(0, until - now()))))
    sleeping = { until, fiber: fork(Effect.andThen(wait, Effect.sync(turn))) }
  }

  const turn = (): void => {
    sleeping = undefined
    isTurning = true
    const current = Math.floor(now())
    const due: Array<Entry> = []
    for (let at = Math.max(next, current - SLOTS + 1); at <= current; at++) {
      for (const entry of slotOf(at)) if (entry.due <= current) due.push(entry)
    }
    next = current + 1
    try {
      for (const entry of due) if (remove(entry)) entry.call()
    } finally {
      // One call that throws must not stop the wheel for all others; those behind it come a turn later.
      isTurning = false
      sleepOn()
    }
  }

  /** Until the next slot that holds something. */
  const sleepOn = (): void => {
    if (entries === 0) return
    let at = next
    while (slotOf(at).size === 0) at++
    sleepUntil(at)
  }

  const remove = (entry: Entry): boolean => {
    const isThere = slotOf(entry.due).delete(entry)
    if (isThere) entries--
    return isThere
  }

  yield* Effect.addFinalizer(() => Effect.sync(() => sleeping?.fiber.interruptUnsafe()))
  return {
    now,
    callAt: (at, call) => {
      if (entries === 0) next = Math.floor(now())
      const entry = { due: Math.max(next, Math.ceil(at)), call }
      slotOf(entry.due).add(entry)
      entries++
      if (!isTurning && (sleeping === undefined || entry.due < sleeping.until)) sleepUntil(entry.due)
      return () => void remove(entry)
    },
  } satisfies Ticker
})
