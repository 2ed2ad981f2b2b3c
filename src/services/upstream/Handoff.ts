/**
 * Hands what one fiber has to another, which goes on at once if it was waiting. A queue wakes its reader by the scheduler,
 * which takes longer than all that is done with a piece of a stream.
 */
import { type Array, Cause, Effect, Exit, type Pull } from "effect"

export class Handoff<A, E> {
  private waiting: globalThis.Array<A> = []
  private ended: Exit.Exit<never, E | Cause.Done> | undefined
  private onMore: (() => void) | undefined
  private onRoom: (() => void) | undefined
  private readonly most: number

  /** `most`: how many may wait before whoever offers them has to. */
  constructor(most: number) {
    this.most = most
  }

  /** Returns once there is room for more. One fiber offers. */
  readonly offer = (items: ReadonlyArray<A>): Effect.Effect<void> =>
    Effect.suspend(() => {
      for (const item of items) this.waiting.push(item)
      this.tell()
      return this.waiting.length <= this.most ? Effect.void : this.room
    })

  /** Nothing follows what was offered but this. */
  end(exit: Exit.Exit<unknown, E>): void {
    this.ended = Exit.isSuccess(exit) ? Exit.fail(Cause.Done()) : Exit.failCause(exit.cause)
    this.tell()
  }

  /** All that waits, as soon as there is something. One fiber takes. */
  readonly take: Pull.Pull<Array.NonEmptyReadonlyArray<A>, E> = Effect.callback((resume) => {
    // Looked for here and not before: a fiber may pause between two effects, and what came then would wake nobody.
    const ready = this.next()
    if (ready !== undefined) return resume(ready)
    this.onMore = () => {
      const next = this.next()
      if (next !== undefined) resume(next)
    }
    return Effect.sync(() => {
      this.onMore = undefined
    })
  })

  private readonly room = Effect.callback<void>((resume) => {
    // All may have been taken since it was offered.
    if (this.waiting.length <= this.most) return resume(Effect.void)
    this.onRoom = () => resume(Effect.void)
    return Effect.sync(() => {
      this.onRoom = undefined
    })
  })

  private next(): Exit.Exit<Array.NonEmptyReadonlyArray<A>, E | Cause.Done> | undefined {
    const [first, ...more] = this.waiting
    if (first === undefined) return this.ended
    this.waiting = []
    const { onRoom } = this
    this.onRoom = undefined
    onRoom?.()
    return Exit.succeed([first, ...more])
  }

  private tell(): void {
    const { onMore } = this
    this.onMore = undefined
    onMore?.()
  }
}
