/** Reads the metadata of answers of any API. */
import type { Result } from "effect"
import type { NativeCall, ProviderFailure, Said } from "../Provider.ts"

/** Follows the pieces of one streamed answer. */
export interface AnswerReading<Piece> {
  /** Reads a piece. Returns a failure if it makes the whole answer useless. */
  readonly add: (piece: Piece) => ProviderFailure | undefined
  /** Whether the provider said, in the way of its API, that the answer is finished. */
  readonly finished: boolean
  /** The metadata so far. */
  readonly said: Said
  /** Whether a piece has visible output, or the end. */
  readonly hasOutput: (piece: Piece) => boolean
}

/** Reads the metadata of a whole answer to `asked`, which may be any JSON value. */
export type ReadWhole = (
  answer: unknown,
  asked: Pick<NativeCall, "body" | "model">,
) => Result.Result<Said, ProviderFailure>
