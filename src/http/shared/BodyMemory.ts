/**
 * Bounds the memory of all request bodies that are being received. Each body is bounded, and so is the number of
 * connections, but the product of the two is more than a machine has, and a slow sender holds its body for long.
 */
import { Deferred, Effect, Schema } from "effect"
import { makeShares } from "../../domain/shares.ts"

/** The body was dropped because others needed its memory. */
export class BodyOvertaken extends Schema.TaggedError<BodyOvertaken>()("BodyOvertaken", {}) {}

export const isBodyOvertaken = Schema.is(BodyOvertaken)

/** Reports how many bytes a body holds by now. */
export type Holds = (bytes: number) => void

/** Reads a body that `client` sends, as long as there is room for what it holds; dies with {@link BodyOvertaken} when not. */
export type HoldBody = <A, E, R>(
  client: string,
  read: (holds: Holds) => Effect.Effect<A, E, R>,
) => Effect.Effect<A, E, R>

interface Body {
  readonly client: string
  readonly overtaken: Deferred.Deferred<never>
}

/**
 * Lets all bodies together hold `maxBytes`. Announced bytes that did not arrive count for nothing. When there are more,
 * bodies of the client that holds most are dropped, the oldest first: a body that is sent at a normal pace arrives
 * before many others have begun.
 */
export const makeBodyMemory = (maxBytes: number): HoldBody => {
  const arriving = makeShares<Body>()
  const release = (body: Body) => arriving.record(body.client, body, 0)
  const makeRoom = () => {
    while (arriving.total() > maxBytes) {
      const body = arriving.first()
      if (body === undefined) return
      release(body)
      Deferred.doneUnsafe(body.overtaken, Effect.die(new BodyOvertaken()))
    }
  }
  return (client, read) =>
    Effect.suspend(() => {
      const body: Body = { client, overtaken: Deferred.makeUnsafe<never>() }
      const holds = (bytes: number) => {
        // What comes in until the reading has stopped is let go of with the rest.
        if (Deferred.isDoneUnsafe(body.overtaken)) return
        arriving.record(client, body, bytes)
        makeRoom()
      }
      return Effect.raceFirst(read(holds), Deferred.await(body.overtaken)).pipe(
        Effect.ensuring(Effect.sync(() => release(body))),
      )
    })
}
