import { Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { CurrentUser } from "../../../api/gateway/Authorization.ts"
import { ModelNotFound } from "../../../api/gateway/CallsApi.ts"
import { GatewayApi } from "../../../api/gateway/GatewayApi.ts"
import { AccessDenied, type Identity } from "../../../domain/access/identity.ts"
import { type ApiName, CHAT_COMPLETIONS } from "../../../domain/upstream/apis.ts"
import { ConcurrencyLimits } from "../../../services/access/ConcurrencyLimits.ts"
import { Drain } from "../../../services/lifecycle/Drain.ts"
import type { ApiCall } from "../../../services/routing/askApi.ts"
import { Router } from "../../../services/routing/Router.ts"
import type { Question } from "../../../services/sealing/apiRequest.ts"
import { tooMany } from "../../shared/ClientLimits.ts"
import { layerHandlers } from "../../shared/layerHandlers.ts"
import { GatewayLimits } from "../GatewayLimits.ts"
import { agentIn, makeAgentCall } from "./agentCall.ts"
import { requestId, streamedAnswer, streamFormOf, wholeAnswer } from "./answers.ts"
import { labelsIn } from "./callLabels.ts"
import { HeldBodies } from "./HeldBodies.ts"
import { makeModels } from "./models.ts"
import { readBody, readCall } from "./readCall.ts"
import { refuse, vendorOf } from "./vendorErrors.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The call of a caller, bound by the limits of its key. */
const callOf = ({ key, subject, tenant }: Identity, question: Question): ApiCall => ({
  tenant,
  request: { ...question, caller: JSON.stringify([tenant, key?.id ?? subject]) },
  keyPolicy: key?.models,
  key: key?.id,
  labels: labelsIn(question.body),
  budgeted: key?.budgets === undefined ? [] : [{ owner: { kind: "key", id: key.id }, budgets: key.budgets }],
})

export const CallsHandlers = layerHandlers(
  GatewayApi,
  "calls",
  Effect.fn(function* (handlers) {
    const router = yield* Router
    const bodies = yield* HeldBodies
    const concurrency = yield* ConcurrencyLimits
    const { calls } = yield* GatewayLimits
    const drain = yield* Drain
    const modelsOf = yield* makeModels
    const agentCall = yield* makeAgentCall

    const answer = Effect.fnUntraced(function* (api: ApiName, request: Request) {
      const user = yield* CurrentUser
      yield* Effect.mapError(concurrency.enter(`calls:${user.tenant}`, calls), (error) =>
        tooMany(error, `At most ${error.limit} calls of models of one tenant may be under way.`),
      )
      const body = yield* readBody(request)
      yield* bodies.hold(user.tenant, body.length)
      const { isStream, model, question } = yield* readCall(api, request, body)
      const agent = agentIn(model)
      if (agent !== undefined) return yield* agentCall(user, agent, question, isStream, request)
      if (user.key?.agents !== undefined) {
        return yield* new AccessDenied({
          detail: "The key is limited to some agents; name one of them as the model: agent:NAME.",
        })
      }
      const call = callOf(user, question)
      if (!isStream) return wholeAnswer(yield* Effect.raceFirst(router.answer(call), drain.aborted))
      return yield* streamedAnswer(streamFormOf(call.request), Stream.interruptWhen(router.stream(call), drain.aborted))
    })

    const serve = (api: ApiName, request: Request) =>
      answer(api, request).pipe(
        Effect.catch((error) => refuse(request, error)),
        Effect.zipWith(requestId(vendorOf(request)), HttpServerResponse.setHeaders),
      )

    const models = Effect.fnUntraced(function* (request: Request) {
      const { modelList } = vendorOf(request)
      return HttpServerResponse.jsonUnsafe(modelList(yield* modelsOf(yield* CurrentUser)))
    })

    const model = Effect.fnUntraced(function* (request: Request, id: string) {
      const found = (yield* modelsOf(yield* CurrentUser)).find((model) => model.id === id)
      return found === undefined
        ? yield* new ModelNotFound()
        : HttpServerResponse.jsonUnsafe(vendorOf(request).model(found))
    })

    return handlers
      .handleRaw("chat", ({ request }) => serve(CHAT_COMPLETIONS, request))
      .handleRaw("responses", ({ request }) => serve("responses", request))
      .handleRaw("messages", ({ request }) => serve("messages", request))
      .handleRaw("embeddings", ({ request }) => serve("embeddings", request))
      .handle("models", ({ request }) => models(request))
      .handle("model", ({ params, request }) => model(request, params.id))
  }),
)
