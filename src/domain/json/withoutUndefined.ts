/**
 * `members` without those that are `undefined`: with exact optional properties an absent member and an undefined one are
 * two things, and JSON, headers and hashes tell them apart too.
 *
 * @example `{ id, ...withoutUndefined({ tenant }) }` has a member `tenant` only where there is one.
 */
export const withoutUndefined = <A extends object>(members: A): Defined<A> =>
  // The type says exactly that these members are removed, which `Object.fromEntries` cannot express.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<A>

type Defined<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }
