/**
 * Gives the memory of `bytes` back now. A few megabytes of it, left to the collector, set off a collection of everything,
 * and that takes longer than all that is done with a large body. Nobody may use the bytes any more: no other view on the
 * same buffer, and no write of them that is under way.
 */
export const letGo = ({ buffer }: Uint8Array<ArrayBuffer>): void => {
  if (buffer.byteLength > 0) buffer.transfer(0)
}
