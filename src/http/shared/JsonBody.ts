/** Bodies are JSON everywhere, and none is read or parsed before it is known to be bearable. */
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
    // One that announces its length is no longer; one that does not may become as long as any.
    const body = new CollectedBytes(Number(request.headers["content-length"] ?? maxBodyBytes))
    return Stream.runForEach(request.stream, (piece) => {
      if (body.length + piece.length > maxBodyBytes) return Effect.fail(tooLarge(request))
      return Effect.sync(() => {
        body.add(piece)
        holds(body.held)
      })
    }).pipe(Effect.map(() => body.take()))
  })

/** What is left of a body that was refused is not even read to be thrown away; its connection is about to be closed. */
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
 * The same request, whose text is counted while it comes in, and dies with {@link NotIJson} when it is not the JSON
 * that is taken. It is read only when it is asked for, that is, once the request has been admitted.
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
  // Everything else is the request's own, also what the server looks for on the request that it made.
  const limited: HttpServerRequest.HttpServerRequest = Object.create(request, { text: { value: text } })
  return limited
}
