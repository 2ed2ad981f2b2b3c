/** Answers in memory. The least recently used ones make room for new ones. Times in milliseconds of any one clock. */

interface StoreLimits {
  readonly ttl: number
  readonly maxBytes: number
  readonly maxTenantBytes: number
}

interface Kept<A> {
  readonly answer: A
  readonly bytes: number
  readonly until: number
}

interface Shelf<A> {
  bytes: number
  /** The least recently used first. */
  readonly answers: Map<string, Kept<A>>
}

export class AnswerStore<A> {
  private readonly limits: StoreLimits
  private readonly shelves = new Map<string, Shelf<A>>()
  private bytes = 0

  constructor(limits: StoreLimits) {
    this.limits = limits
  }

  find(tenant: string, key: string, now: number): A | undefined {
    const shelf = this.shelves.get(tenant)
    const kept = shelf?.answers.get(key)
    if (shelf === undefined || kept === undefined || kept.until <= now) return undefined
    shelf.answers.delete(key)
    shelf.answers.set(key, kept)
    return kept.answer
  }

  /** Keeps an answer, unless it is larger than its tenant's room. Room is made by the tenant, then by those that use most. */
  keep(tenant: string, key: string, { answer, bytes }: Pick<Kept<A>, "answer" | "bytes">, now: number): void {
    const { maxBytes, maxTenantBytes, ttl } = this.limits
    const most = Math.min(maxBytes, maxTenantBytes)
    this.remove(tenant, key)
    if (bytes > most) return
    const shelf = this.shelves.get(tenant) ?? { bytes: 0, answers: new Map() }
    this.shelves.set(tenant, shelf)
    shelf.answers.set(key, { answer, bytes, until: now + ttl })
    shelf.bytes += bytes
    this.bytes += bytes
    while (shelf.bytes > most) this.removeOldest(tenant)
    while (this.bytes > maxBytes) this.removeOldest(this.largest())
  }

  removeExpired(now: number): void {
    for (const [tenant, { answers }] of this.shelves) {
      for (const [key, { until }] of answers) if (until <= now) this.remove(tenant, key)
    }
  }

  private largest(): string | undefined {
    let largest: string | undefined
    let most = 0
    for (const [tenant, { bytes }] of this.shelves) {
      if (bytes > most) [largest, most] = [tenant, bytes]
    }
    return largest
  }

  private removeOldest(tenant: string | undefined): void {
    const [oldest] = this.shelves.get(tenant ?? "")?.answers.keys() ?? []
    if (tenant !== undefined && oldest !== undefined) this.remove(tenant, oldest)
  }

  private remove(tenant: string, key: string): void {
    const shelf = this.shelves.get(tenant)
    const kept = shelf?.answers.get(key)
    if (shelf === undefined || kept === undefined) return
    shelf.answers.delete(key)
    shelf.bytes -= kept.bytes
    this.bytes -= kept.bytes
    if (shelf.answers.size === 0) this.shelves.delete(tenant)
  }
}
