import { setFlagsFromString } from "node:v8"
import { Effect, Layer } from "effect"

/**
 * Turns pretenuring off: V8 makes objects in its old generation at places in the code whose earlier objects lasted, as
 * nearly all do while a server starts. There, the objects of a finished call keep all that they refer to until the next
 * full collection. Build it last: once a flag of V8 has changed, Node compiles its own modules anew.
 */
export const layerWithoutPretenuring = Layer.effectDiscard(
  Effect.sync(() => setFlagsFromString("--no-allocation-site-pretenuring")),
)
