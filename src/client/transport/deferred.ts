export interface Deferred<A> {
  readonly promise: Promise<A>
  readonly resolve: (value: A) => void
  readonly reject: (reason: unknown) => void
}

/** `Promise.withResolvers`, which Node has since version 22. */
export const deferred = <A>(): Deferred<A> => {
  let resolve: Deferred<A>["resolve"] = () => {}
  let reject: Deferred<A>["reject"] = () => {}
  const promise = new Promise<A>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}
