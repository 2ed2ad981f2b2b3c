/** Divides a limited capacity among sources. Each may hold at most what is still free, so a new one finds some. */
export class FairRoom {
  private readonly max: number
  private readonly held = new Map<string, number>()
  private used = 0

  constructor(max: number) {
    this.max = max
  }

  /** Whether `source` may take `amount` more; without a source, whether that much is free. */
  has(source: string | undefined, amount = 1): boolean {
    const holds = source === undefined ? 0 : (this.held.get(source) ?? 0)
    return holds + amount <= this.max - this.used
  }

  /** Takes room without checking. */
  take(source: string | undefined, amount = 1): void {
    this.used += amount
    if (source !== undefined) this.held.set(source, (this.held.get(source) ?? 0) + amount)
  }

  /** Frees room that `source` took. */
  giveBack(source: string | undefined, amount = 1): void {
    this.used -= amount
    if (source !== undefined) this.disown(source, amount)
  }

  /** Keeps room taken, but no longer counts it for `source`. */
  disown(source: string, amount = 1): void {
    const holds = (this.held.get(source) ?? 0) - amount
    if (holds > 0) this.held.set(source, holds)
    else this.held.delete(source)
  }
}
