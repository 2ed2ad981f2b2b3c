/** `members` without those that are `undefined` or `null`: wire formats tell absent from `null`. */
export const present = <A extends object>(members: A): Present<A> =>
  // The loss of exactly these members is what the type says, and what Object.fromEntries cannot.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as Present<A>

export type Present<A> = { readonly [K in keyof A]?: NonNullable<A[K]> }
