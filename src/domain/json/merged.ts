/** Members to replace; `null` removes an optional one. */
type Change<A> = { readonly [K in keyof A]?: {} extends Pick<A, K> ? A[K] | null : A[K] }

/** Replaces what the change gives, and removes what it sets to `null`. Lists and objects are replaced as a whole. */
export const merged = <A extends object>(before: A, change: Change<NoInfer<A>>): A =>
  // A change has only members of `A`, and `null` only for optional ones.
  Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value != null)) as A
