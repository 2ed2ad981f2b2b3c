/** Answers opened requests. */
import { Context, Effect, Layer, type Stream } from "effect"
import type { Answered, ApiEvent, ApiRequest } from "../../domain/upstream/upstream.ts"
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
    /** Asks for a whole answer. */
    readonly answer: (admitted: Admitted) => Effect.Effect<Answered, ServingError>
    /** The same, streamed. It succeeded only if its last event is `Finished`. */
    readonly stream: (admitted: Admitted) => Stream.Stream<ApiEvent, ServingError>
  }
>()("sealgate/services/sealing/Answering") {
  /** Asks the providers in their configured order. */
  static readonly layerUpstream = Layer.effect(
    Answering,
    Effect.map(Upstream, ({ request, requestStream }) =>
      Answering.of({
        answer: (admitted) => request(admitted.request),
        stream: (admitted) => requestStream(admitted.request),
      }),
    ),
  )
}
