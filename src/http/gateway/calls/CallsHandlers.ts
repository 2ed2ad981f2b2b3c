import { Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { CurrentUser } from "../../../api/gateway/Authorization.ts"
import { ModelNotFound, Overloaded } from "../../../api/gateway/CallsApi.ts"
import { GatewayApi } from "../../../api/gateway/GatewayApi.ts"
import { NotFound } from "../../../api/problems.ts"
import { AccessDenied } from "../../../domain/access/identity.ts"
import { type ApiName, CHAT_COMPLETIONS } from "../../../domain/upstream/apis.ts"
import { ConcurrencyLimits, enterOfKey } from "../../../services/access/ConcurrencyLimits.ts"
import { Drain } from "../../../services/lifecycle/Drain.ts"
import { CachedAnswers, type CacheUse } from "../../../services/routing/CachedAnswers.ts"
import { OpenedMemory } from "../../../services/sealing/OpenedMemory.ts"
import { tooMany } from "../../shared/ClientLimits.ts"
import { layerHandlers } from "../../shared/layerHandlers.ts"
import { pathOf } from "../../shared/RouteTable.ts"
import { GatewayLimits } from "../GatewayLimits.ts"
import { agentIn, makeAgentCall } from "./agentCall.ts"
import { requestId, streamedAnswer, streamFormOf, wholeAnswer } from "./answers.ts"
import { callOf } from "./callOf.ts"
import { makeModels } from "./models.ts"
import { readBody, readCall } from "./readCall.ts"
import { isUnserved, refuse, vendorOf } from "./vendorErrors.ts"

const COUNT = "messages.count_tokens"
const UNCOUNTED = new NotFound({ detail: "No target of this model counts tokens." })

const CACHE_HEADER = "sealgate-cache"

/** Reads `Cache-Control`; other directives make no difference. */
const cacheUse = ({ headers }: HttpServerRequest.HttpServerRequest): CacheUse => {
  const given = (headers["cache-control"] ?? "").toLowerCase().split(",")
  const directives = new Set(given.map((each) => each.trim()))
  if (directives.has("no-store")) return "no-store"
  return directives.has("no-cache") ? "no-cache" : "all"
}

const markedCached = (response: HttpServerResponse.HttpServerResponse, isCached: boolean) =>
  isCached ? HttpServerResponse.setHeader(response, CACHE_HEADER, "hit") : response

export const CallsHandlers = layerHandlers(
  GatewayApi,
  "calls",
  Effect.fn(function* (handlers) {
    const answers = yield* CachedAnswers
    const memory = yield* OpenedMemory
    const concurrency = yield* ConcurrencyLimits
    const { calls } = yield* GatewayLimits
    const drain = yield* Drain
    const { find, list } = yield* makeModels
    const agentCall = yield* makeAgentCall

    const answer = Effect.fnUntraced(function* (api: ApiName, request: HttpServerRequest.HttpServerRequest) {
      const user = yield* CurrentUser
      yield* Effect.mapError(concurrency.enter(`calls:${user.tenant}`, calls), (error) =>
        tooMany(error, `At most ${error.limit} calls of models of one tenant may be under way.`),
      )
      yield* Effect.mapError(enterOfKey(concurrency, user), (error) =>
        tooMany(error, `At most ${error.limit} calls of models of this key may be under way (max_calls_in_flight).`),
      )
      const body = yield* readBody(request, (bytes) =>
        Effect.mapError(memory.hold(user.tenant, bytes), () => new Overloaded()),
      )
      const { isStream, model, question } = yield* readCall(api, request, body)
      const agent = agentIn(model)
      if (agent !== undefined) return yield* agentCall(user, agent, question, isStream, request)
      if (user.key?.agents !== undefined) {
        return yield* new AccessDenied({
          detail: "The key is limited to some agents; name one of them as the model: agent:NAME.",
        })
      }
      // Clients of these APIs cannot take back output.
      const call = callOf(user, { ...question, restart: false })
      const use = api === COUNT ? "no-store" : cacheUse(request)
      if (!isStream) {
        const { isCached, value } = yield* drain.unlessAborted(answers.answer(call, use))
        return markedCached(wholeAnswer(value), isCached)
      }
      const { isCached, value } = yield* answers.stream(call, use)
      const streamed = yield* streamedAnswer(streamFormOf(call.request), Stream.interruptWhen(value, drain.aborted))
      return markedCached(streamed, isCached)
    })

    const serve = (api: ApiName, request: HttpServerRequest.HttpServerRequest) =>
      answer(api, request).pipe(
        Effect.catch((error) => refuse(request, api === COUNT && isUnserved(error) ? UNCOUNTED : error)),
        Effect.zipWith(requestId(vendorOf(request)), HttpServerResponse.setHeaders),
      )

    const models = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const query = new URLSearchParams(request.url.slice(pathOf(request.url).length))
      return HttpServerResponse.jsonUnsafe(vendorOf(request).modelList(yield* list(yield* CurrentUser), query))
    })

    const model = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, id: string) {
      const found = yield* find(yield* CurrentUser, id)
      return found === undefined
        ? yield* new ModelNotFound()
        : HttpServerResponse.jsonUnsafe(vendorOf(request).model(found))
    })

    return handlers
      .handleRaw("chat", ({ request }) => serve(CHAT_COMPLETIONS, request))
      .handleRaw("responses", ({ request }) => serve("responses", request))
      .handleRaw("messages", ({ request }) => serve("messages", request))
      .handleRaw("countTokens", ({ request }) => serve(COUNT, request))
      .handleRaw("embeddings", ({ request }) => serve("embeddings", request))
      .handle("models", ({ request }) => models(request))
      .handle("model", ({ params, request }) => model(request, params.id))
      .handle("modelWithSlash", ({ params, request }) => {
        const rest = params["*"]
        return rest.startsWith("/") ? model(request, rest.slice(1)) : Effect.fail(new NotFound({}))
      })
  }),
)
