/** Removes or moves many rows in the background, in batches that let others write in between. */
import { Duration, Effect } from "effect"
import { thisMoment } from "./moments.ts"

/** Milliseconds that a batch should take: the embedded database serves nothing else meanwhile. */
const AIM = 10
/** Pause after a batch, so that others come first. */
const PAUSE = Duration.millis(25)

/** Runs `batch` until it says that it was the last one. Its size, the number of rows, follows the time that batches take. */
export const inBatches = Effect.fnUntraced(function* <E, R>(
  { least, most }: { readonly least: number; readonly most: number },
  batch: (size: number) => Effect.Effect<"more" | "last", E, R>,
) {
  let size = least
  for (;;) {
    const began = yield* thisMoment
    if ((yield* batch(size)) === "last") return
    const took = (yield* thisMoment) - began
    if (took > 2 * AIM) size = Math.max(least, size >> 1)
    else if (took < AIM) size = Math.min(most, size << 1)
    yield* Effect.sleep(PAUSE)
  }
})
