/** Limits the memory of all requests that wait for a model: each may have megabytes and wait for minutes. */
import { Context, Effect, Layer, type Scope } from "effect"
import { Overloaded } from "../../../api/gateway/CallsApi.ts"
import { FairRoom } from "../../../services/sealing/FairRoom.ts"

export class HeldBodies extends Context.Service<
  HeldBodies,
  {
    /** Takes `bytes` for a request of `tenant` until the scope closes. */
    readonly hold: (tenant: string, bytes: number) => Effect.Effect<void, Overloaded, Scope.Scope>
  }
>()("sealgate/http/gateway/calls/HeldBodies") {
  static readonly layer = (maxBytes: number) =>
    Layer.sync(HeldBodies, () => {
      const room = new FairRoom(maxBytes)
      const take = (tenant: string, bytes: number) =>
        Effect.suspend(() => {
          if (!room.has(tenant, bytes)) return Effect.fail(new Overloaded())
          return Effect.sync(() => room.take(tenant, bytes))
        })
      return HeldBodies.of({
        hold: (tenant, bytes) =>
          Effect.acquireRelease(take(tenant, bytes), () => {
            room.giveBack(tenant, bytes)
            return Effect.void
          }),
      })
    })
}
