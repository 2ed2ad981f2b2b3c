/** Tracks which choices of a streamed answer have begun and which have finished. */
export class FinishTracker {
  private readonly begun = new Set<number>()
  private readonly finished = new Set<number>()
  private readonly expected: number

  /** `expected`: the number of choices asked for. */
  constructor(expected: number) {
    this.expected = expected
  }

  see(choice: number, finishReason: string | null | undefined): void {
    this.begun.add(choice)
    if (finishReason != null) this.finished.add(choice)
  }

  /** Whether every choice that began is finished. Sufficient if the provider says that the answer has ended. */
  get settled(): boolean {
    return this.finished.size > 0 && this.finished.size === this.begun.size
  }

  /** Whether every choice that was asked for is finished, so that none can follow. */
  get complete(): boolean {
    return this.settled && this.finished.size >= this.expected
  }
}
