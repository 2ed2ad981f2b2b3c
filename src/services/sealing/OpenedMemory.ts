/** Limits the memory of all requests that wait for a provider, for minutes and with megabytes each. */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { FairRoom } from "./FairRoom.ts"

/** There is no memory for the request, or its source has used up its share. */
export class MemoryFull extends Schema.TaggedError<MemoryFull>()("MemoryFull", {}) {}

export class OpenedMemory extends Context.Service<
  OpenedMemory,
  {
    /** Takes `bytes` for a request from `source` until the scope closes, or until the returned function is called. */
    readonly hold: (source: string, bytes: number) => Effect.Effect<() => void, MemoryFull, Scope.Scope>
  }
>()("sealgate/services/sealing/OpenedMemory") {
  static readonly layer = (settings: { readonly maxBytes: number }) =>
    Layer.sync(OpenedMemory, () => {
      const room = new FairRoom(settings.maxBytes)
      const take = (source: string, bytes: number) =>
        Effect.suspend(() => {
          if (!room.has(source, bytes)) return Effect.fail(new MemoryFull())
          room.take(source, bytes)
          let isHeld = true
          return Effect.succeed(() => {
            if (isHeld) room.giveBack(source, bytes)
            isHeld = false
            return Effect.void
          })
        })
      return OpenedMemory.of({
        hold: (source, bytes) => Effect.acquireRelease(take(source, bytes), (release) => release()),
      })
    })
}
