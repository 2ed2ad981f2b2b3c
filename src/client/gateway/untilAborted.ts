/** Closes the stream when the signal fires. */
export async function* untilAborted<A>(
  events: AsyncIterable<A>,
  signal: AbortSignal | undefined,
): AsyncGenerator<A, void> {
  const iterator = events[Symbol.asyncIterator]()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  // The stream may be closed by the time the error arrives.
  aborted.catch(() => undefined)
  const abort = () => reject(signal?.reason)
  signal?.addEventListener("abort", abort, { once: true })
  try {
    while (true) {
      signal?.throwIfAborted()
      const next = await Promise.race([iterator.next(), aborted])
      if (next.done === true) return
      yield next.value
    }
  } finally {
    signal?.removeEventListener("abort", abort)
    await iterator.return?.()
  }
}
