import { Effect, type Scope } from "effect"

/** Sets of items by key. A key without items takes no memory. */
export class KeyedSets<A> {
  private readonly sets = new Map<string, Set<A>>()

  of(key: string): ReadonlySet<A> {
    return this.sets.get(key) ?? new Set()
  }

  get keys(): ReadonlyArray<string> {
    return [...this.sets.keys()]
  }

  add(key: string, item: A): void {
    this.sets.set(key, (this.sets.get(key) ?? new Set()).add(item))
  }

  remove(key: string, item: A): void {
    const items = this.sets.get(key)
    items?.delete(item)
    if (items?.size === 0) this.sets.delete(key)
  }

  /** Adds an item under each of these keys until the scope closes. */
  hold(item: A, ...keys: ReadonlyArray<string>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => keys.forEach((key) => this.add(key, item))),
      () => Effect.sync(() => keys.forEach((key) => this.remove(key, item))),
    )
  }
}
