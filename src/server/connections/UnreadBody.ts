import { IncomingMessage } from "node:http"
import { CollectedBytes } from "../../domain/collectedBytes.ts"

/**
 * A request whose body is kept in one buffer until it is read. Node buffers up to 64 KiB of a body before anybody reads
 * it, each piece by itself however small: a body in chunks of one byte would take some 13 MB, on each connection whose
 * request waits.
 */
export class UnreadBody extends IncomingMessage {
  readonly #unread = new CollectedBytes(this.readableHighWaterMark)
  #ended = false
  #isRead = false

  override push(piece: Uint8Array<ArrayBuffer> | null): boolean {
    if (this.#isRead) return super.push(piece)
    if (piece === null) this.#ended = true
    else this.#unread.add(piece)
    return this.#unread.length < this.readableHighWaterMark
  }

  override _read(size: number): void {
    if (!this.#isRead) {
      this.#isRead = true
      if (this.#unread.length > 0) super.push(this.#unread.take())
      if (this.#ended) super.push(null)
    }
    super._read(size)
  }
}
