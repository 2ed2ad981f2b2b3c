import { Effect, Schema, Stream } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiError } from "effect/http-api"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes.ts"
import { suiteWith } from "../../domain/suites.ts"
import { Callers, Source } from "../../services/access/Callers.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { Attestation } from "../../services/sealing/Attestation.ts"
import { type SealedAnswer, SealedCompletions } from "../../services/sealing/SealedCompletions.ts"
import type { OpeningError } from "../../services/sealing/SealedExchange.ts"
import type { SealedEvent } from "../../services/sealing/sealStream.ts"
import { Sessions } from "../../services/sealing/Sessions.ts"
import { sha256 } from "../../services/sealing/sha256.ts"
import { clientIdentity } from "../shared/ClientIdentity.ts"
import { tooMany } from "../shared/ClientLimits.ts"
import { eventStreamResponse, renderEvent } from "../shared/EventStream.ts"
import { retryAfter } from "../shared/renderProblems.ts"
import { Draining, TooLarge } from "../../api/problems.ts"
import { CameBefore, NoCommonSuite, NoSession, NotOpened } from "../../api/proxy/openingProblems.ts"
import { ProxyApi } from "../../api/proxy/ProxyApi.ts"
import { InitRequest } from "../../api/proxy/SealedApi.ts"

const NO_STORE = { "cache-control": "no-store" }

const decodeInit = Schema.decodeUnknownEffect(Schema.fromJsonString(InitRequest), { errors: "all" })

/** Like all endpoints: what says nothing of its type is taken for JSON. */
const isJson = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  /^\s*application\/json\s*(;|$)/i.test(headers["content-type"] ?? "application/json")

const framesBody = (answer: { readonly responseNonce: Bytes; readonly frames: ReadonlyArray<Bytes> }) => ({
  response_nonce: encodeBase64Url(answer.responseNonce),
  frames: answer.frames.map(encodeBase64Url),
})

/** JSON of one event's data. The members are base64url, numbers and a compact JWS: nothing that needs escaping. */
const renderSealedEvent = (event: SealedEvent): string =>
  event._tag === "Proof"
    ? renderEvent("proof", `{"proof":"${event.proof}"}`)
    : renderEvent(
        "frame",
        `{"seq":${event.seq}${event.final ? ',"final":true' : ""},"ciphertext":"${encodeBase64Url(event.ciphertext)}"}`,
      )

const render = (answer: SealedAnswer): HttpServerResponse.HttpServerResponse => {
  switch (answer._tag) {
    case "Complete":
      return HttpServerResponse.jsonUnsafe(framesBody(answer), { headers: NO_STORE })
    case "Problem":
      return HttpServerResponse.jsonUnsafe(framesBody(answer), {
        status: answer.status,
        headers: { ...NO_STORE, ...(answer.retryAfterMs === undefined ? {} : retryAfter(answer.retryAfterMs)) },
      })
    case "Stream": {
      const opening = renderEvent("open", `{"response_nonce":"${encodeBase64Url(answer.responseNonce)}"}`)
      return eventStreamResponse(Stream.concat(Stream.succeed(opening), Stream.map(answer.events, renderSealedEvent)))
    }
  }
}

/** What the caller is told of a request that was not opened. */
const refusalOf = (error: OpeningError): NotOpened | CameBefore | NoSession | TooLarge => {
  switch (error._tag) {
    case "Unopenable":
      return new NotOpened()
    case "Replayed":
      return new CameBefore()
    case "SessionGone":
      return new NoSession()
    case "CiphertextTooLarge":
      return new TooLarge({ detail: `At most ${error.maxBytes} bytes of ciphertext are accepted.`, headers: {} })
  }
}

export const SealedHandlers = HttpApiBuilder.group(
  ProxyApi,
  "sealed",
  Effect.fn(function* (handlers) {
    const sessions = yield* Sessions
    const completions = yield* SealedCompletions
    const attestation = yield* Attestation
    const callers = yield* Callers
    const drain = yield* Drain
    const keys = { keys: [attestation.jwk] }

    const init = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      if (!isJson(request)) return HttpServerResponse.empty({ status: 415 })
      // As it was sent, because its hash is signed. What is still coming in holds no shutdown up.
      const text = yield* Effect.orDie(request.text)
      yield* drain.inFlight
      if (yield* drain.draining) return yield* new Draining()
      const { suites } = yield* Effect.orDie(HttpApiError.HttpApiSchemaError.wrap("Payload", decodeInit(text)))
      const suite = suites.map(suiteWith).find((suite) => suite !== undefined)
      if (suite === undefined) return yield* new NoCommonSuite()
      const statement = yield* sessions.begin({ suite, initHash: encodeBase64Url(sha256(utf8(text))) })
      return HttpServerResponse.jsonUnsafe({ attestation: statement }, { headers: NO_STORE })
    })

    const complete = Effect.fnUntraced(function* (envelope: Parameters<typeof completions.handle>[0]) {
      yield* Effect.mapError(callers.mayTry, (error) =>
        tooMany(error, `At most ${error.limit} refused credentials per minute are accepted from one client.`),
      )
      yield* drain.inFlight
      if (yield* drain.draining) return yield* new Draining()
      return render(yield* Effect.mapError(completions.handle(envelope), refusalOf))
    })

    /** Whoever a request is counted for outside the seal. */
    const sourceOf = (request: HttpServerRequest.HttpServerRequest): string => {
      const { by, whose } = clientIdentity(request)
      return `${by}:${whose}`
    }

    // The scope of these effects is the request's, which stays open until the response is written out.
    return handlers
      .handleRaw("init", ({ request }) => init(request))
      .handle("completions", ({ payload, request }) =>
        Effect.provideService(complete(payload), Source, sourceOf(request)),
      )
      .handle("keys", () => Effect.succeed(HttpServerResponse.jsonUnsafe(keys, { headers: NO_STORE })))
  }),
)
