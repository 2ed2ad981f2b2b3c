/** Smallest buffer worth releasing explicitly, in bytes. */
const LARGE = 16 * 1024

/** Number of loans of each buffer. */
const lent = new WeakMap<ArrayBuffer, number>()

/**
 * Frees the memory of `bytes` now, if it is large. A few megabytes left to the garbage collector trigger a full collection,
 * which takes longer than all work on a large body. Neither the bytes nor other views on their buffer may be used
 * afterwards. Leaves lent buffers to the collector.
 */
export const releaseBytes = ({ buffer }: Uint8Array<ArrayBuffer>): void => {
  if (buffer.byteLength >= LARGE && !lent.has(buffer)) buffer.transfer(0)
}

/**
 * Keeps `bytes` from being released while the system may read them. Returns a function that ends the loan, to be called once.
 * Does not keep them from being overwritten.
 */
export const lend = ({ buffer }: Uint8Array<ArrayBuffer>): (() => void) => {
  lent.set(buffer, (lent.get(buffer) ?? 0) + 1)
  return () => {
    const others = (lent.get(buffer) ?? 0) - 1
    if (others > 0) lent.set(buffer, others)
    else lent.delete(buffer)
  }
}
