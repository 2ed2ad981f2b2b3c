import { releaseBytes } from "./releaseBytes.ts"

/** The fewest bytes that are allocated when a body begins to arrive. */
const FIRST = 1024

const NOTHING = Buffer.alloc(0)

/**
 * Bytes that arrive in pieces and are kept in one buffer. Each piece kept by itself would cost some 200 bytes, and its
 * sender chooses how small pieces are.
 */
export class CollectedBytes {
  readonly #expected: number
  #bytes: Buffer<ArrayBuffer> = NOTHING
  #length = 0

  /** `expected` is how many bytes there will be at most, as far as is known. */
  constructor(expected: number) {
    this.#expected = expected
  }

  get length(): number {
    return this.#length
  }

  /**
   * How many bytes of memory the buffer takes: at most twice as many as arrived, or 1024, and never more than expected.
   */
  get held(): number {
    return this.#bytes.length
  }

  /** Copies a piece, whose memory is let go of if it is all of its buffer. */
  add(piece: Uint8Array<ArrayBuffer>): void {
    const needed = this.#length + piece.length
    if (needed > this.#bytes.length) {
      const roomy = Math.max(needed, 2 * this.#bytes.length, FIRST)
      // Allocated outside the pool that small buffers share, so that nothing else keeps this memory alive.
      const grown = Buffer.allocUnsafeSlow(needed <= this.#expected ? Math.min(roomy, this.#expected) : roomy)
      this.#bytes.copy(grown, 0, 0, this.#length)
      releaseBytes(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(piece, this.#length)
    this.#length = needed
    if (piece.length === piece.buffer.byteLength) releaseBytes(piece)
  }

  /** Hands out all bytes and keeps none of them here. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.subarray(0, this.#length)
    this.#bytes = NOTHING
    this.#length = 0
    return bytes
  }
}
