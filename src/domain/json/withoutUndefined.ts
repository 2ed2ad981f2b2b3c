/** Removes `undefined` members, which exact optional properties, headers and hashes tell from absent ones. */
export const withoutUndefined = <A extends object>(members: A): Defined<A> =>
  // `Object.fromEntries` cannot express that exactly these members are removed.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<A>

type Defined<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }
