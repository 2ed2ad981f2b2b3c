/** The fewest bytes that it is worth giving back by hand. */
const LARGE = 16 * 1024

/** How many read a buffer meanwhile. */
const lent = new WeakMap<ArrayBuffer, number>()

/**
 * Gives the memory of `bytes` back now, if it is large. A few megabytes of it, left to the collector, set off a collection of
 * everything, and that takes longer than all that is done with a large body. Nobody may use the bytes any more, nor another
 * view on the same buffer; what is lent is left to the collector.
 */
export const releaseBytes = ({ buffer }: Uint8Array<ArrayBuffer>): void => {
  if (buffer.byteLength >= LARGE && !lent.has(buffer)) buffer.transfer(0)
}

/**
 * Keeps the memory of `bytes` where it is, for as long as the system may read it, until what it returns is called: once. To
 * overwrite them is not held up.
 */
export const lend = ({ buffer }: Uint8Array<ArrayBuffer>): (() => void) => {
  lent.set(buffer, (lent.get(buffer) ?? 0) + 1)
  return () => {
    const others = (lent.get(buffer) ?? 0) - 1
    if (others > 0) lent.set(buffer, others)
    else lent.delete(buffer)
  }
}
