/** Decodes compressed responses. None is requested, but some servers, and proxies in front of them, compress anyway. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Array as Arr, Cause, Effect, Pull, type Scope, Stream } from "effect"
import type { ProviderFailure } from "../../Provider.ts"
import { codingIn, DECODERS } from "../../../contentCoding.ts"
import type { ConnectionFailed, NextPiece, Pieces, ProviderResponse } from "../../HttpExchange.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { withCode } from "./brokenConnection.ts"

/** Decompresses a body as it is read, so a reader that stops at a limit is safe from a decompression bomb. */
export const decodedBytes = (
  response: ProviderResponse,
): Effect.Effect<NextPiece<Pieces, ProviderFailure>, never, Scope.Scope> => {
  const bytes = Effect.mapError(response.body, brokenOff)
  const name = codingIn(response.headers["content-encoding"])
  if (name === undefined) return Effect.succeed(bytes)
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
    onError: () => garbage(`an answer that is not in the coding ${name}, which it names`),
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

/** The bytes of a body as the pull of a stream. */
const pullOf = (bytes: NextPiece<Pieces, ProviderFailure>) =>
  Effect.flatMap(bytes, (pieces): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, ProviderFailure> =>
    pieces !== undefined && Arr.isReadonlyArrayNonEmpty(pieces) ? Effect.succeed(pieces) : Cause.done(),
  )
