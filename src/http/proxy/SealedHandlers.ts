import { Effect, Metric, Schema } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { suiteWith } from "../../domain/protocol/suites.ts"
import { Callers, Source } from "../../services/access/Callers.ts"
import { Evidence } from "../../services/evidence/Evidence.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { Attestation } from "../../services/sealing/Attestation.ts"
import { OpenedMemory } from "../../services/sealing/OpenedMemory.ts"
import { SealedCompletions } from "../../services/sealing/SealedCompletions.ts"
import { openingsFailed } from "../../services/sealing/SealingMetrics.ts"
import type { OpeningError } from "../../services/sealing/RequestOpener.ts"
import { Sessions } from "../../services/sealing/Sessions.ts"
import { sha256 } from "../../services/sealing/sha256.ts"
import { clientIdentity } from "../shared/ClientIdentity.ts"
import { CountedPolicies, tooMany } from "../shared/ClientLimits.ts"
import { isJson } from "../shared/JsonBody.ts"
import { Draining, TooLarge } from "../../api/problems.ts"
import {
  RequestReplayed,
  NoCommonSuite,
  NoSession,
  RequestUnopenable,
  Overloaded,
} from "../../api/proxy/openingProblems.ts"
import { ProxyApi } from "../../api/proxy/ProxyApi.ts"
import { InitRequest } from "../../api/proxy/SealedApi.ts"
import { makeCompleteResponse } from "./completeResponse.ts"
import { readEnvelope } from "./readEnvelope.ts"
import { streamResponse } from "./streamResponse.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

const NO_STORE = { "cache-control": "no-store" }

const decodeInit = Schema.decodeUnknownEffect(Schema.fromJsonString(InitRequest), { errors: "all" })

export const refusalOf = (
  error: OpeningError,
): RequestUnopenable | RequestReplayed | NoSession | TooLarge | Draining | Overloaded => {
  switch (error._tag) {
    case "Unopenable":
      return new RequestUnopenable()
    case "Replayed":
      return new RequestReplayed()
    case "SessionGone":
      return new NoSession()
    case "ShuttingDown":
      return new Draining()
    case "ClaimsFull":
      return new Overloaded()
    case "CiphertextTooLarge":
      return new TooLarge({ detail: `At most ${error.maxBytes} bytes of ciphertext are accepted.`, headers: {} })
  }
}

export const SealedHandlers = layerHandlers(
  ProxyApi,
  "sealed",
  Effect.fn(function* (handlers) {
    const sessions = yield* Sessions
    const completions = yield* SealedCompletions
    const memory = yield* OpenedMemory
    const attestation = yield* Attestation
    const callers = yield* Callers
    const drain = yield* Drain
    const evidence = yield* Evidence
    const completeResponse = yield* makeCompleteResponse
    const keys = { keys: [attestation.jwk] }

    const init = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      if (!isJson(request)) return HttpServerResponse.empty({ status: 415 })
      // The exact text, because its hash is signed. It is read first, so a slow sender does not delay a shutdown.
      const text = yield* Effect.orDie(request.text)
      yield* drain.inFlight("request")
      if (yield* drain.draining) return yield* new Draining()
      const { suites } = yield* Effect.orDie(HttpApiError.HttpApiSchemaError.wrap("Payload", decodeInit(text)))
      const suite = suites.map(suiteWith).find((suite) => suite !== undefined)
      if (suite === undefined) return yield* new NoCommonSuite()
      const statement = yield* sessions.begin({ suite, initHash: encodeBase64Url(sha256(utf8(text))) })
      return HttpServerResponse.jsonUnsafe({ attestation: statement, ...keys }, { headers: NO_STORE })
    })

    const complete = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      if (!isJson(request)) return HttpServerResponse.empty({ status: 415 })
      const body = yield* Effect.orDie(request.arrayBuffer)
      const release = yield* memory.hold(yield* Source, body.byteLength).pipe(
        Effect.tapError(() => Metric.update(openingsFailed("overloaded"), 1)),
        Effect.mapError(() => new Overloaded()),
      )
      const envelope = yield* readEnvelope(body)
      yield* Effect.mapError(callers.mayTry, (error) =>
        tooMany(error, `At most ${error.limit} refused credentials per minute are accepted from one client.`),
      )
      const work = yield* drain.inFlight("request")
      const states = yield* CountedPolicies
      const answer = yield* Effect.mapError(completions.handle(envelope, release), refusalOf)
      // How many requests remain would reveal how the answer came about.
      states.hide()
      if (answer._tag === "Complete") return completeResponse(answer)
      work.kind = "stream"
      return yield* streamResponse(answer)
    })

    /** The client of a request, as seen outside the seal. */
    const sourceOf = (request: HttpServerRequest.HttpServerRequest): string => {
      const { by, whose } = clientIdentity(request)
      return `${by}:${whose}`
    }

    // These effects run in the request's scope, which stays open until the response is written.
    return handlers
      .handleRaw("init", ({ request }) => init(request))
      .handleRaw("completions", ({ request }) => Effect.provideService(complete(request), Source, sourceOf(request)))
      .handle("evidence", ({ payload }) =>
        Effect.gen(function* () {
          yield* drain.inFlight("request")
          if (yield* drain.draining) return yield* new Draining()
          // The schema accepts only base64url.
          const answer = yield* evidence.ask(decodeBase64Url(payload.nonce) ?? new Uint8Array(0))
          return HttpServerResponse.jsonUnsafe(answer, { headers: NO_STORE })
        }),
      )
      .handle("keys", () => Effect.succeed(HttpServerResponse.jsonUnsafe(keys, { headers: NO_STORE })))
  }),
)
