import { Effect, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import { type Bytes, withPiece } from "../domain/bytes/bytes.ts"

/**
 * Reads a body, decompressed, until it ends or exceeds `limit` bytes. A result above the limit, by at most one chunk,
 * was cut off.
 */
export const readBody = Effect.fnUntraced(function* ({ stream }: HttpClientResponse.HttpClientResponse, limit: number) {
  let bytes: Bytes = new Uint8Array()
  let length = 0
  yield* Stream.runForEachWhile(stream, (chunk) =>
    Effect.sync(() => {
      bytes = withPiece(bytes, length, chunk)
      length += chunk.length
      return length <= limit
    }),
  )
  return Buffer.from(bytes.buffer, 0, length)
})
