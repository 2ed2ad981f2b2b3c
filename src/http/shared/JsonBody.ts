/** Bodies are JSON everywhere, and none is read or parsed before it is known to be bearable. */
import { Readable } from "node:stream"
import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import { isWithinJsonLimits } from "../../domain/jsonLimits.ts"
import type { HoldBody } from "./BodyMemory.ts"

/** The body is nested too deeply or has too many members. */
export class JsonTooComplex extends Schema.TaggedError<JsonTooComplex>()("JsonTooComplex", {}) {}

export const isJsonTooComplex = Schema.is(JsonTooComplex)

/** What is left of a body that was refused is not even read to be thrown away; its connection is about to be closed. */
const stopReading = (source: object): void => {
  if (source instanceof Readable) source.pause()
}

/**
 * The same request, whose text is counted while it comes in, and dies with {@link JsonTooComplex} when it is not within
 * the limits of JSON. It is read only when it is asked for, that is, once the request has been admitted.
 */
export const withBodyLimits = (
  request: HttpServerRequest.HttpServerRequest,
  maxBodyBytes: number,
  hold: HoldBody,
): HttpServerRequest.HttpServerRequest => {
  // A body that does not announce its length may become as long as any.
  const bytes = Number(request.headers["content-length"] ?? maxBodyBytes)
  const text = Effect.suspend(() => hold(bytes, request.text)).pipe(
    Effect.tapCause(() => Effect.sync(() => stopReading(request.source))),
    Effect.tap((text) => (isWithinJsonLimits(text) ? Effect.void : Effect.die(new JsonTooComplex()))),
  )
  // Everything else is the request's own, also what the server looks for on the request that it made.
  const limited: HttpServerRequest.HttpServerRequest = Object.create(request, { text: { value: text } })
  return limited
}
