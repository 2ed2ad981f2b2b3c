/**
 * The memory of request bodies that are on their way in, over all connections. Each body is bounded, and so is the number
 * of connections; but their product is not what a machine has, and who sends slowly holds it for long.
 */
import { Deferred, Effect, Fiber, Schema } from "effect"

/** The body made way for others, having been on its way for longest. */
export class BodyOvertaken extends Schema.TaggedError<BodyOvertaken>()("BodyOvertaken", {}) {}

export const isBodyOvertaken = Schema.is(BodyOvertaken)

/** Bodies up to this size, in bytes, are not counted: the number of connections bounds them well enough. */
const SMALL_BODY = 4096

/** Reads a body of at most `bytes` bytes; dies with {@link BodyOvertaken} when it has to make way. */
export type HoldBody = <A, E, R>(bytes: number, read: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Lets bodies of together `maxBytes` be read at a time. One more ends the oldest: a body that is sent at an honest pace is
 * there before many others have begun, so it is the slow ones that pay.
 */
export const makeBodyMemory = (maxBytes: number): HoldBody => {
  // A map is ordered by insertion, so the first has been on its way for longest.
  const arriving = new Map<Deferred.Deferred<never>, number>()
  let held = 0
  const release = (body: Deferred.Deferred<never>) => {
    held -= arriving.get(body) ?? 0
    arriving.delete(body)
  }
  const makeRoom = (newest: Deferred.Deferred<never>) => {
    for (const oldest of arriving.keys()) {
      if (held <= maxBytes || oldest === newest) return
      release(oldest)
      Deferred.doneUnsafe(oldest, Effect.die(new BodyOvertaken()))
    }
  }
  return (bytes, read) =>
    bytes <= SMALL_BODY
      ? read
      : Effect.suspend(() => {
          const body = Deferred.makeUnsafe<never>()
          arriving.set(body, bytes)
          held += bytes
          makeRoom(body)
          // Interrupting the reading would break the connection, and with it the answer. It ends with the connection.
          return Effect.flatMap(Effect.forkDetach(read), (reading) =>
            Effect.raceFirst(Fiber.join(reading), Deferred.await(body)),
          ).pipe(Effect.ensuring(Effect.sync(() => release(body))))
        })
}
