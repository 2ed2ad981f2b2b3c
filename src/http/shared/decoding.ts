/** Decompresses request bodies. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, type Scope, Semaphore, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { RequestInvalid } from "../../api/gateway/Authorization.ts"
import { TooLarge, UnsupportedMediaType } from "../../api/problems.ts"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { CollectedBytes } from "../../domain/bytes/collectedBytes.ts"
import { codingIn, DECODERS } from "../../services/contentCoding.ts"
import { BodyLimit } from "./JsonBody.ts"

/** Each decoder may hold a window of 16 MiB besides its output. More at once would not be faster: libuv has four threads. */
const turns = Semaphore.makeUnsafe(4)

/**
 * Returns the decoder for the body of `request`, whose result has the same limit as the body; `undefined` if it needs none.
 * `hold` takes the memory of the longest result while it grows.
 */
export const decoding = Effect.fnUntraced(function* <E = never>(
  { headers }: HttpServerRequest.HttpServerRequest,
  hold: (bytes: number) => Effect.Effect<unknown, E, Scope.Scope>,
) {
  const coding = codingIn(headers["content-encoding"])
  if (coding === undefined) return undefined
  const decoder = DECODERS.get(coding)
  if (decoder === undefined) {
    return yield* new UnsupportedMediaType({
      detail: `The coding ${coding} is not supported; use zstd, gzip, deflate, br or none.`,
      headers: { "accept-encoding": "zstd, gzip, deflate, br" },
    })
  }
  const limit = yield* BodyLimit
  const garbage = () => new RequestInvalid({ detail: `It is not in the coding that it names, ${coding}.` })
  return (sent: Bytes) =>
    Effect.gen(function* () {
      yield* hold(limit)
      const body = new CollectedBytes(limit)
      const pieces = NodeStream.fromReadable<Bytes, RequestInvalid>({
        evaluate: () => decoder().end(sent),
        onError: garbage,
      })
      const collect = (piece: Bytes) => {
        if (body.length + piece.length > limit) {
          return Effect.fail(new TooLarge({ detail: `At most ${limit} bytes are accepted, decompressed.` }))
        }
        return Effect.sync(() => body.add(piece))
      }
      yield* Stream.runForEach(pieces, collect)
      // Copied, because it may wait for minutes in a buffer of up to twice its size.
      return body.take().slice()
    }).pipe(Effect.scoped, turns.withPermit)
})
