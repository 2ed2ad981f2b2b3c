import { Effect, Layer } from "effect"
import { Upstream } from "../../src/services/upstream/Upstream.ts"

/** The echo provider with some methods replaced. */
export const layerEchoWith = (
  parts: (echo: Upstream["Service"]) => Partial<Upstream["Service"]>,
): Layer.Layer<Upstream> =>
  Layer.effect(
    Upstream,
    Effect.map(Effect.service(Upstream), (echo) => Upstream.of({ ...echo, ...parts(echo) })),
  ).pipe(Layer.provide(Upstream.layerEcho))
