import { orAbort } from "../transport/orAbort.ts"

/** Closes the stream when the signal fires. */
export async function* untilAborted<A>(
  events: AsyncIterable<A>,
  signal: AbortSignal | undefined,
): AsyncGenerator<A, void> {
  const iterator = events[Symbol.asyncIterator]()
  try {
    while (true) {
      signal?.throwIfAborted()
      const next = await orAbort(iterator.next(), signal)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}
