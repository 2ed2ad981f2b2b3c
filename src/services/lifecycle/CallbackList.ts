/** A node of the list. */
class Entry {
  previous: Entry = this
  next: Entry = this
  readonly call: () => void

  constructor(call: () => void) {
    this.call = call
  }

  insertBefore(entry: Entry): void {
    this.previous = entry.previous
    this.next = entry
    this.previous.next = this
    entry.previous = this
  }

  /** Does nothing if it was removed before. */
  remove(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this.next = this
  }
}

/**
 * Callbacks in the order in which they were added; each is called once.
 *
 * A linked list, because a `Set` moves to a new table as it grows or shrinks, and the old table of a long-lived set keeps
 * its callbacks until the next full collection. With a set, a call of a model left 5 KB until then instead of 1 KB.
 */
export class CallbackList {
  /** Sentinel: `next` is the oldest callback, and `previous` the newest. */
  private readonly end = new Entry(() => undefined)

  /** Adds a callback. Returns a function that removes it. */
  add(call: () => void): () => void {
    const entry = new Entry(call)
    entry.insertBefore(this.end)
    return () => entry.remove()
  }

  /** Removes and calls all callbacks, the oldest first. A callback may remove or add others. */
  callAll(): void {
    while (this.end.next !== this.end) {
      const { next } = this.end
      next.remove()
      next.call()
    }
  }
}
