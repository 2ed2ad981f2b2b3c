/** The ids of the tool calls of one choice, no two the same: a result has nothing else to find its call by. */
export class DistinctIds {
  private readonly taken = new Set<string>()

  /** `given`, the id that a provider gives a call, or `otherwise` if that is none or another call has it. */
  take(given: string | null | undefined, otherwise: string): string {
    const id = !given || this.taken.has(given) ? otherwise : given
    this.taken.add(id)
    return id
  }
}
