/** Collects the provider, model and usage of a streamed answer, from its pieces and from the reports beside them. */
import type { Usage } from "../../domain/chat/chat.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import type { ProviderId, Served } from "../../domain/upstream/upstream.ts"
import type { AnswerReading } from "./answerReaders/AnswerReading.ts"

export class StreamOutcome<Piece> {
  readonly provider: ProviderId
  private readonly reading: AnswerReading<Piece>
  private usageSoFar: Usage | null = null
  private receipt: KeptReceipt | undefined

  constructor(provider: ProviderId, reading: AnswerReading<Piece>) {
    this.provider = provider
    this.reading = reading
  }

  /** Reads `piece`. Providers themselves fail if a piece makes the answer worthless. */
  add(piece: Piece): void {
    this.reading.add(piece)
  }

  /** Records the usage so far, which the pieces may never contain. */
  spent(usage: Usage): void {
    this.usageSoFar = usage
  }

  /** Records the signed statements about the answer. */
  signed(receipt: KeptReceipt): void {
    this.receipt = receipt
  }

  hasOutput(piece: Piece): boolean {
    return this.reading.hasOutput(piece)
  }

  get finished(): boolean {
    return this.reading.finished
  }

  /**
   * The usage of an incomplete answer is the last one known. The usage of a complete answer comes from its pieces
   * alone, because an earlier count is partial.
   */
  get served(): Served {
    const said = this.reading.said
    const usage = said.usage ?? (this.finished ? null : this.usageSoFar)
    return { ...said, provider: this.provider, usage, ...withoutUndefined({ receipt: this.receipt }) }
  }
}
