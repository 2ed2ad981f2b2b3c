/** Bodies of responses, read with a limit. */
import { Effect, Schema, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { ProviderFailure } from "../../Provider.ts"
import { failure, garbage } from "./Failures.ts"
import { withConnectionCode } from "./connectionCode.ts"

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The JSON value of a text; `None` if it is not JSON. */
export const parseJson = decodeJson

/** The JSON value of a whole body of at most `limit` bytes. */
export const jsonBody = Effect.fnUntraced(function* (
  response: HttpClientResponse.HttpClientResponse,
  limit: number,
): Effect.fn.Return<unknown, ProviderFailure> {
  const body = yield* Effect.mapError(readText(response, limit), (error) =>
    failure("truncated", withConnectionCode("the answer broke off", error)),
  )
  if (body.length > limit) return yield* garbage(`an answer of more than ${limit} bytes`)
  return yield* Effect.mapError(Effect.fromOption(decodeJson(body.text)), () => garbage("the answer is not JSON"))
})

/** As much of a body as fits into `limit` bytes and arrives: for error bodies, whose status says enough by itself. */
export const someText = (response: HttpClientResponse.HttpClientResponse, limit: number): Effect.Effect<string> =>
  Effect.match(readText(response, limit), { onFailure: () => "", onSuccess: (body) => body.text })

/** Reads until the end, or until more than `limit` bytes came. */
const readText = (
  response: HttpClientResponse.HttpClientResponse,
  limit: number,
): Effect.Effect<{ readonly text: string; readonly length: number }, HttpClientError.HttpClientError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let text = ""
    let length = 0
    return response.stream.pipe(
      Stream.takeUntil((bytes) => (length += bytes.length) > limit),
      Stream.runForEach((bytes) =>
        Effect.sync(() => {
          text += decoder.decode(bytes, { stream: true })
        }),
      ),
      Effect.map(() => ({ text: text + decoder.decode(), length })),
    )
  })
