/** Limits the memory of all bodies being received: a slow sender holds its body for long, on many connections. */
import { Schema } from "effect"
import { makeShares } from "../../domain/access/shares.ts"

/** The body was dropped because other bodies needed its memory. */
export class BodyOvertaken extends Schema.TaggedError<BodyOvertaken>()("BodyOvertaken", {}) {}

export const isBodyOvertaken = Schema.is(BodyOvertaken)

interface HeldBody {
  /** Reports how many bytes it holds now. */
  readonly holds: (bytes: number) => void
  /** Frees its memory: it was read, or is no longer needed. */
  readonly release: () => void
}

/** Registers a body of `client`. `overtaken` is called, at most once, when the body is dropped. */
export type HoldBody = (client: string, overtaken: () => void) => HeldBody

interface Body {
  readonly client: string
  readonly overtaken: () => void
  isGone: boolean
}

/**
 * Lets all bodies together hold `maxBytes`; only bytes that arrived count. Beyond that, drops bodies of the client that holds
 * most, the oldest first: a body sent at a normal pace arrives before many others have begun.
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
        // Bytes may arrive until reading stops; they are dropped with the body.
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
