/**
 * Removes `undefined` members, because exact optional properties, headers and hashes distinguish them from absent ones.
 *
 * @example `{ id, ...withoutUndefined({ tenant }) }` has a member `tenant` only if it is defined.
 */
export const withoutUndefined = <A extends object>(members: A): Defined<A> =>
  // `Object.fromEntries` cannot express that exactly these members are removed.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<A>

type Defined<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }
