/** Decodes compressed responses. None is requested, but some servers, and proxies in front of them, compress anyway. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Array as Arr, Cause, Effect, Pull, type Scope, Stream } from "effect"
import type { Duplex } from "node:stream"
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib"
import type { ProviderFailure } from "../../Provider.ts"
import type { ConnectionFailed, NextPiece, Pieces, ProviderResponse } from "../../HttpExchange.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { withCode } from "./brokenConnection.ts"

/** Releases decoded bytes as soon as possible. The content shows whether the answer is complete. */
const PROMPTLY = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }

const BROTLI_PROMPTLY = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }

/** Windows of at most 8 MiB, the largest that a sender may use (RFC 9659 §3), bound what decoding holds. */
const ZSTD = { finishFlush: constants.ZSTD_e_flush, params: { [constants.ZSTD_d_windowLogMax]: 23 } }

/** Decoders by the names of their codings (RFC 9110 §8.4.1). */
const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ["gzip", () => createGunzip(PROMPTLY)],
  ["x-gzip", () => createGunzip(PROMPTLY)],
  ["deflate", () => createInflate(PROMPTLY)],
  ["br", () => createBrotliDecompress(BROTLI_PROMPTLY)],
  ["zstd", () => createZstdDecompress(ZSTD)],
])

/** Decompresses a body as it is read, so a reader that stops at a limit is safe from a decompression bomb. */
export const decodedBytes = (
  response: ProviderResponse,
): Effect.Effect<NextPiece<Pieces, ProviderFailure>, never, Scope.Scope> => {
  const bytes = Effect.mapError(response.body, brokenOff)
  const coding = response.headers["content-encoding"]
  if (coding === undefined) return Effect.succeed(bytes)
  const codings = coding
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity")
  if (codings.length === 0) return Effect.succeed(bytes)
  const name = codings.join(", ")
  const decoder = DECODERS.get(name)
  if (decoder === undefined) {
    return Effect.succeed(
      Effect.fail(
        garbage(
          "an answer in a coding that was not asked for",
          `an answer in the coding ${name}, which was not asked for`,
        ),
      ),
    )
  }
  const decoded = NodeStream.pipeThroughDuplex(Stream.fromPull(Effect.succeed(pullOf(bytes))), {
    evaluate: decoder,
    onError: () => garbage(`an answer that is not in the coding that it names, ${name}`),
  })
  return Effect.map(
    Stream.toPull(decoded),
    Pull.matchEffect({
      onSuccess: (pieces): NextPiece<Pieces, ProviderFailure> => Effect.succeed(pieces),
      onFailure: Effect.failCause,
      onDone: () => Effect.undefined,
    }),
  )
}

const brokenOff = (error: ConnectionFailed): ProviderFailure =>
  failure("truncated", withCode("the answer broke off", error))

/** Adapts the bytes to the pull of a stream. */
const pullOf = (bytes: NextPiece<Pieces, ProviderFailure>) =>
  Effect.flatMap(bytes, (pieces): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, ProviderFailure> =>
    pieces !== undefined && Arr.isReadonlyArrayNonEmpty(pieces) ? Effect.succeed(pieces) : Cause.done(),
  )
