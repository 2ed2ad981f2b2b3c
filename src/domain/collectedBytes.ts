/** The least that is set aside for what begins to come in, in bytes. */
const FIRST = 1024

const NOTHING = Buffer.alloc(0)

/**
 * Bytes that come in pieces and are kept as one. Each piece kept by itself would cost some 200 bytes however small it is,
 * and whoever sends it chooses how small.
 */
export class CollectedBytes {
  readonly #expected: number
  #bytes: Buffer = NOTHING
  #length = 0

  /** `expected` is how many bytes there will be at most, as far as is known. */
  constructor(expected: number) {
    this.#expected = expected
  }

  get length(): number {
    return this.#length
  }

  /** Bytes of memory that they take: at most twice as many as there are, or 1024, and not more than expected. */
  get held(): number {
    return this.#bytes.length
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length
    if (needed > this.#bytes.length) {
      const roomy = Math.max(needed, 2 * this.#bytes.length, FIRST)
      // Not out of the pool that small buffers share: nothing but this is to keep it alive.
      const grown = Buffer.allocUnsafeSlow(needed <= this.#expected ? Math.min(roomy, this.#expected) : roomy)
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#bytes.set(piece, this.#length)
    this.#length = needed
  }

  /** All of them, which are not kept here any longer. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length)
    this.#bytes = NOTHING
    this.#length = 0
    return bytes
  }
}
