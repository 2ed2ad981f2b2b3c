import { Duration, Effect } from "effect"

/** Length of one piece of time, in milliseconds. */
const PIECE_MS = 50

/**
 * Dies unless an effect ends in time. Time is counted in pieces, between which the event loop turns: a stall of this process
 * counts as one piece, because nothing could have happened in it.
 */
export const withinTurns =
  (time: Duration.Input) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const pieces = Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(time)) / PIECE_MS)
    const over = Effect.sleep(PIECE_MS).pipe(
      Effect.repeat({ times: pieces - 1 }),
      Effect.andThen(Effect.die(new Error(`It took longer than ${pieces * PIECE_MS} ms.`))),
    )
    return Effect.raceFirst(effect, over)
  }
