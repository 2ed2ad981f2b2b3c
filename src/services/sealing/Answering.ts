/** Answers opened requests. */
import { Context, Effect, Layer } from "effect"
import type { JsonObject } from "../../domain/json/json.ts"
import type { Answered, ApiRequest, Emit, Streamed } from "../../domain/upstream/upstream.ts"
import type { Caller } from "../access/Callers.ts"
import { Upstream } from "../upstream/Upstream.ts"
import type { ServingError } from "./sealedProblem.ts"

/** An opened request, and its caller if a credential is needed. */
export interface Admitted {
  readonly request: ApiRequest
  readonly caller: Caller | undefined
}

export class Answering extends Context.Service<
  Answering,
  {
    readonly answer: (admitted: Admitted) => Effect.Effect<Answered, ServingError>
    readonly stream: (admitted: Admitted, emit: Emit<JsonObject>) => Effect.Effect<Streamed, ServingError>
  }
>()("sealgate/services/sealing/Answering") {
  /** Asks the providers in their configured order. */
  static readonly layerUpstream = Layer.effect(
    Answering,
    Effect.map(Upstream, ({ request, requestStreamTo }) =>
      Answering.of({
        answer: (admitted) => request(admitted.request),
        stream: (admitted, emit) => requestStreamTo(admitted.request, emit),
      }),
    ),
  )
}
