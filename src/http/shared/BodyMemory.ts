/**
 * Bounds the memory of all request bodies that are being received. Each body is bounded, and so is the number of
 * connections, but the product of the two is more than a machine has, and a slow sender holds its body for long.
 */
import { Schema } from "effect"
import { makeShares } from "../../domain/access/shares.ts"

/** The body was dropped because others needed its memory. */
export class BodyOvertaken extends Schema.TaggedError<BodyOvertaken>()("BodyOvertaken", {}) {}

export const isBodyOvertaken = Schema.is(BodyOvertaken)

/** A body on its way in. */
interface HeldBody {
  /** Reports how many bytes it holds by now. */
  readonly holds: (bytes: number) => void
  /** It was read, or nobody waits for it any more. */
  readonly release: () => void
}

/** Enters a body that `client` sends. `overtaken` is called, at most once, when it has to be let go of. */
export type HoldBody = (client: string, overtaken: () => void) => HeldBody

interface Body {
  readonly client: string
  readonly overtaken: () => void
  isGone: boolean
}

/**
 * Lets all bodies together hold `maxBytes`. Announced bytes that did not arrive count for nothing. When there are more,
 * bodies of the client that holds most are dropped, the oldest first: a body that is sent at a normal pace arrives
 * before many others have begun.
 */
export const makeBodyMemory = (maxBytes: number): HoldBody => {
  const arriving = makeShares<Body>()
  const release = (body: Body) => {
    body.isGone = true
    arriving.record(body.client, body, 0)
  }
  const makeRoom = () => {
    while (arriving.total() > maxBytes) {
      const body = arriving.first()
      if (body === undefined) return
      release(body)
      body.overtaken()
    }
  }
  return (client, overtaken) => {
    const body: Body = { client, overtaken, isGone: false }
    return {
      holds: (bytes) => {
        // What comes in until the reading has stopped is let go of with the rest.
        if (body.isGone) return
        arriving.record(client, body, bytes)
        makeRoom()
      },
      release: () => {
        if (!body.isGone) release(body)
      },
    }
  }
}
