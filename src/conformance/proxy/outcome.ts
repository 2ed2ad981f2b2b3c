/** The server breaks a rule; the message says how. */
export class Violation extends Error {}

/** The check does not apply; the message says why. */
export class Skipped extends Error {}

export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Violation(otherwise)
}

export const skip = (why: string): never => {
  throw new Skipped(why)
}
