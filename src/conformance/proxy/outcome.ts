/** How a check says what came of it. */

/** The server does something else than it must; the message says what, in a sentence. */
export class Violation extends Error {}

/** Why something cannot be checked here. */
export class Skipped extends Error {}

/** Throws a {@link Violation} that says `otherwise`, unless `holds`. */
export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Violation(otherwise)
}

export const skip = (why: string): never => {
  throw new Skipped(why)
}
