/** Keeps the ids of the tool calls of one choice distinct, because a result finds its call only by id. */
export class DistinctIds {
  private readonly taken = new Set<string>()

  /** Returns the provider's id `given`, or `otherwise` if it is absent or taken. */
  take(given: string | null | undefined, otherwise: string): string {
    const id = !given || this.taken.has(given) ? otherwise : given
    this.taken.add(id)
    return id
  }
}
