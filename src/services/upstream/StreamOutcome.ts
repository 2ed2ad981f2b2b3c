/** Who served an answer and what it cost, read from the answer itself. */
import type { ChatChunk, ChatCompletion, FinishReason, Usage } from "../../domain/chat.ts"
import { defined } from "../../domain/defined.ts"
import type { KeptReceipt } from "../../domain/keptReceipt.ts"
import type { ProviderId, Served } from "../../domain/upstream.ts"

/** Who served a whole answer. */
export const servedBy = (provider: ProviderId, completion: ChatCompletion): Served => ({
  provider,
  model: completion.model,
  finishReasons: completion.choices.map((choice) => choice.finish_reason),
  usage: completion.usage ?? null,
})

/** Collects from the chunks of a stream what {@link servedBy} reads from a whole answer. */
export class StreamOutcome {
  readonly provider: ProviderId
  private model = ""
  private usage: Usage | null = null
  private usageSoFar: Usage | null = null
  private receipt: KeptReceipt | undefined
  private readonly finishReasons = new Map<number, FinishReason | null>()

  constructor(provider: ProviderId) {
    this.provider = provider
  }

  /** Reads `chunk` and returns it. */
  add(chunk: ChatChunk): ChatChunk {
    this.model = chunk.model
    if (chunk.usage != null) this.usage = chunk.usage
    for (const { finish_reason, index } of chunk.choices) {
      if (finish_reason != null) this.finishReasons.set(index, finish_reason)
      else if (!this.finishReasons.has(index)) this.finishReasons.set(index, null)
    }
    return chunk
  }

  /** Records the usage so far, which the chunks may never contain. */
  spent(usage: Usage): void {
    this.usageSoFar = usage
  }

  /** Records the signed statements about the answer. */
  signed(receipt: KeptReceipt): void {
    this.receipt = receipt
  }

  /** Whether every choice that began has its finish reason, and at least one did. */
  get finished(): boolean {
    return this.finishReasons.size > 0 && ![...this.finishReasons.values()].includes(null)
  }

  /**
   * The usage of an incomplete answer is the last one known. That of a complete answer comes from its chunks alone,
   * because an earlier count is only a part. The finish reasons are in the order of their choices; choices without one
   * are left out.
   */
  get served(): Served {
    const finishReasons = [...this.finishReasons]
      .sort(([a], [b]) => a - b)
      .flatMap(([, finishReason]) => finishReason ?? [])
    const usage = this.usage ?? (this.finished ? null : this.usageSoFar)
    return { provider: this.provider, model: this.model, finishReasons, usage, ...defined({ receipt: this.receipt }) }
  }
}
