/** What answers say of themselves, whichever API they are of. */
import type { Result } from "effect"
import type { ProviderFailure, Said } from "../Provider.ts"

/** Follows the pieces of one streamed answer. */
export interface AnswerReading<Piece> {
  /** Takes note of a piece. Returns what makes the answer worthless, if that is what it says. */
  readonly add: (piece: Piece) => ProviderFailure | undefined
  /** Whether the provider said that the answer is finished, as its API has it. */
  readonly finished: boolean
  /** What it said so far. */
  readonly said: Said
  /** Whether a piece has anything that a reader would see, or the end. */
  readonly hasOutput: (piece: Piece) => boolean
}

/** What a whole answer, any JSON value, says of itself; `model` is the one that was asked. */
export type ReadWhole = (answer: unknown, model: string) => Result.Result<Said, ProviderFailure>
