/** Removes members that are `undefined` or `null`, because wire formats distinguish absent members from `null`. */
export const present = <A extends object>(members: A): Present<A> =>
  // The type says exactly that these members are removed, which `Object.fromEntries` cannot express.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as Present<A>

type Present<A> = { readonly [K in keyof A]?: NonNullable<A[K]> }
