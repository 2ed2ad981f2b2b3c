import { releaseBytes } from "./releaseBytes.ts"

/** Smallest allocation, in bytes. */
const FIRST = 1024

const NOTHING = Buffer.alloc(0)

/** Collects pieces in one buffer: separate ones cost some 200 bytes each, and the sender chooses how small they are. */
export class CollectedBytes {
  readonly #expected: number
  #bytes: Buffer<ArrayBuffer> = NOTHING
  #length = 0

  /** @param expected the most bytes that will arrive, as far as known */
  constructor(expected: number) {
    this.#expected = expected
  }

  get length(): number {
    return this.#length
  }

  /** Size of the buffer: at most twice what arrived, or 1024 bytes, and never more than expected. */
  get held(): number {
    return this.#bytes.length
  }

  /** Copies a piece, and releases its memory if it is all of its buffer. */
  add(piece: Uint8Array<ArrayBuffer>): void {
    const needed = this.#length + piece.length
    if (needed > this.#bytes.length) {
      const roomy = Math.max(needed, 2 * this.#bytes.length, FIRST)
      // Outside the pool of small buffers, so nothing else keeps this memory alive.
      const grown = Buffer.allocUnsafeSlow(needed <= this.#expected ? Math.min(roomy, this.#expected) : roomy)
      this.#bytes.copy(grown, 0, 0, this.#length)
      releaseBytes(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(piece, this.#length)
    this.#length = needed
    if (piece.length === piece.buffer.byteLength) releaseBytes(piece)
  }

  /** Returns all bytes and forgets them. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.subarray(0, this.#length)
    this.#bytes = NOTHING
    this.#length = 0
    return bytes
  }
}
