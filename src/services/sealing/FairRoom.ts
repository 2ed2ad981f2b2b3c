/**
 * Counts what is kept in a bounded place, so that no source of requests can fill it: one may hold as much as is still free.
 * A lone source gets half of the room, each of nine a tenth, and the next one always finds some.
 */
export class FairRoom {
  private readonly max: number
  private readonly held = new Map<string, number>()
  private used = 0

  constructor(max: number) {
    this.max = max
  }

  /** Whether `source` may hold `amount` more; without a source, whether there is room at all. */
  has(source: string | undefined, amount = 1): boolean {
    const holds = source === undefined ? 0 : (this.held.get(source) ?? 0)
    return holds + amount <= this.max - this.used
  }

  /** Takes up room, whether or not there is any. */
  take(source: string | undefined, amount = 1): void {
    this.used += amount
    if (source !== undefined) this.held.set(source, (this.held.get(source) ?? 0) + amount)
  }

  /** Gives back what was taken for `source`. */
  giveBack(source: string | undefined, amount = 1): void {
    this.used -= amount
    if (source !== undefined) this.disown(source, amount)
  }

  /** What was taken stays taken, but no longer counts for `source`. */
  disown(source: string, amount = 1): void {
    const holds = (this.held.get(source) ?? 0) - amount
    if (holds > 0) this.held.set(source, holds)
    else this.held.delete(source)
  }
}
