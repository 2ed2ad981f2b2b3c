/** Answers sealed calls of a gateway: routed, within budgets and in the ledger, like unsealed ones. */
import { Effect, Layer, Redacted } from "effect"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import { isRefusal } from "../../../domain/problems/refusal.ts"
import { type ApiRequest, UpstreamError } from "../../../domain/upstream/upstream.ts"
import type { ApiCall } from "../../../services/routing/askApi.ts"
import { Router } from "../../../services/routing/Router.ts"
import { type Admitted, Answering } from "../../../services/sealing/Answering.ts"
import { invalidRequest, Refused, type ServingError } from "../../../services/sealing/sealedProblem.ts"
import { Upstream } from "../../../services/upstream/Upstream.ts"
import { callOf } from "./callOf.ts"
import { type CallError, callProblem } from "./vendorErrors.ts"

const NO_MODEL = invalidRequest("Name a model; GET /v1/models lists the models.", {
  errors: Redacted.make([{ path: "body.model", message: "is missing" }]),
})

const modelOf = ({ model, provider }: ApiRequest): string | undefined =>
  model === undefined || provider === undefined ? model : `${provider}/${model}`

const makeCallIn = Effect.map(Upstream, (upstream) =>
  Effect.fnUntraced(function* ({ caller, request }: Admitted): Effect.fn.Return<ApiCall, Refused | UpstreamError> {
    const { provider } = request
    if (provider !== undefined && !(yield* upstream.configured).has(provider)) {
      return yield* new UpstreamError({ code: "provider-not-configured" })
    }
    const model = modelOf(request)
    if (model === undefined) return yield* NO_MODEL
    if (caller?.identity === undefined) return yield* Effect.die(new Error("A sealed call of a gateway has no caller."))
    return callOf(caller.identity, { ...request, model })
  }),
)

const sealed = (error: CallError): Effect.Effect<never, ServingError> => {
  if (!isRefusal(error) && error._tag === "CallFailed") return Effect.fail(error.error)
  return Effect.flatMap(callProblem(error), ({ code, detail, errors, retry_after_ms, retryable, status, title }) =>
    Effect.fail(
      new Refused({
        status,
        code,
        title,
        retryable,
        ...withoutUndefined({
          detail: detail === undefined ? undefined : Redacted.make(detail),
          errors: errors === undefined ? undefined : Redacted.make(errors),
          retryAfterMs: retry_after_ms,
        }),
      }),
    ),
  )
}

export const layerSealedCalls = Layer.effect(
  Answering,
  Effect.gen(function* () {
    const router = yield* Router
    const callIn = yield* makeCallIn
    return Answering.of({
      answer: (admitted) => Effect.flatMap(callIn(admitted), (call) => Effect.catch(router.answer(call), sealed)),
      stream: (admitted, emit) =>
        Effect.flatMap(callIn(admitted), (call) => Effect.catch(router.stream(call, emit), sealed)),
    })
  }),
)
