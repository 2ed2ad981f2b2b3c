/** Checks JSON bodies before they are parsed: their size and the limits of I-JSON. */
import { Readable } from "node:stream"
import { Effect, Stream } from "effect"
import { HttpServerError, type HttpServerRequest } from "effect/http"
import { iJsonText, type JsonLimits, NotIJson } from "../../domain/iJson.ts"
import type { HoldBody, Holds } from "./BodyMemory.ts"
import { clientIdentity } from "./ClientIdentity.ts"
import { CollectedBytes } from "../../domain/collectedBytes.ts"

export const isNotIJson = (error: unknown): error is NotIJson => error instanceof NotIJson

const tooLarge = (request: HttpServerRequest.HttpServerRequest) =>
  new HttpServerError.HttpServerError({
    reason: new HttpServerError.RequestParseError({ request, reason: "BodyTooLarge" }),
  })

/** A body, read until it is more than `maxBodyBytes`. */
const readBytes = (request: HttpServerRequest.HttpServerRequest, maxBodyBytes: number, holds: Holds) =>
  Effect.suspend(() => {
    // A body that announces its length cannot be longer; one that does not is counted while it is read.
    const body = new CollectedBytes(Number(request.headers["content-length"] ?? maxBodyBytes))
    return Stream.runForEach(request.stream, (piece) => {
      if (body.length + piece.length > maxBodyBytes) return Effect.fail(tooLarge(request))
      return Effect.sync(() => {
        body.add(piece)
        holds(body.held)
      })
    }).pipe(Effect.map(() => body.take()))
  })

/** The rest of a refused body is not read, because its connection is about to be closed. */
const stopReading = (source: object): void => {
  if (source instanceof Readable) source.pause()
}

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly jsonLimits: JsonLimits
  readonly hold: HoldBody
}

const textOf = (body: Uint8Array, limits: JsonLimits): Effect.Effect<string> => {
  const text = iJsonText(body, limits)
  return typeof text === "string" ? Effect.succeed(text) : Effect.die(text)
}

/**
 * The same request, except that its text is counted while it is read, and that reading dies with {@link NotIJson} if it
 * is not acceptable JSON. The body is read on demand, that is, after the request was admitted.
 */
export const withBodyLimits = (
  request: HttpServerRequest.HttpServerRequest,
  { hold, jsonLimits, maxBodyBytes }: BodyLimits,
): HttpServerRequest.HttpServerRequest => {
  const text = Effect.suspend(() =>
    hold(clientIdentity(request).whose, (holds) => readBytes(request, maxBodyBytes, holds)),
  ).pipe(
    Effect.tapCause(() => Effect.sync(() => stopReading(request.source))),
    Effect.flatMap((body) => textOf(body, jsonLimits)),
  )
  // All other members are those of the original request, including those that the server itself looks for on it.
  const limited: HttpServerRequest.HttpServerRequest = Object.create(request, { text: { value: text } })
  return limited
}
