import { Effect, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"

/**
 * Reads a body until it ends or exceeds `limit` bytes, after decompression. A result longer than `limit` means that the body
 * was cut; it is at most one chunk longer.
 */
export const readBody = Effect.fnUntraced(function* ({ stream }: HttpClientResponse.HttpClientResponse, limit: number) {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  yield* Stream.runForEachWhile(stream, (chunk) =>
    Effect.sync(() => {
      chunks.push(chunk)
      bytes += chunk.length
      return bytes <= limit
    }),
  )
  return Buffer.concat(chunks)
})
