import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type Bytes, encodeBase64Url } from "../../domain/bytes.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { Attestation } from "../../services/sealing/Attestation.ts"
import { type SealedAnswer, SealedCompletions } from "../../services/sealing/SealedCompletions.ts"
import type { OpeningError } from "../../services/sealing/SealedExchange.ts"
import type { SealedEvent } from "../../services/sealing/sealStream.ts"
import { Sessions } from "../../services/sealing/Sessions.ts"
import { eventStreamResponse, renderEvent } from "../shared/EventStream.ts"
import { retryAfter } from "../shared/Problems.ts"
import { Draining, TooLarge } from "../../api/problems.ts"
import { CameBefore, NoSession, NotOpened } from "../../api/proxy/openingProblems.ts"
import { ProxyApi } from "../../api/proxy/ProxyApi.ts"

const NO_STORE = { "cache-control": "no-store" }

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
    const drain = yield* Drain
    const keys = { keys: [attestation.jwk] }

    const init = Effect.fnUntraced(function* (clientNonce: string | undefined) {
      yield* drain.inFlight
      if (yield* drain.draining) return yield* new Draining()
      return HttpServerResponse.jsonUnsafe(yield* sessions.begin(clientNonce), { headers: NO_STORE })
    })

    const complete = Effect.fnUntraced(function* (envelope: Parameters<typeof completions.handle>[0]) {
      yield* drain.inFlight
      if (yield* drain.draining) return yield* new Draining()
      return render(yield* Effect.mapError(completions.handle(envelope), refusalOf))
    })

    // The scope of these effects is the request's, which stays open until the response is written out.
    return handlers.handleAll({
      init: ({ payload }) => init(payload?.client_nonce),
      completions: ({ payload }) => complete(payload),
      keys: () => Effect.succeed(HttpServerResponse.jsonUnsafe(keys, { headers: NO_STORE })),
    })
  }),
)
