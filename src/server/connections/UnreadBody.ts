import { IncomingMessage } from "node:http"
import { CollectedBytes } from "../../domain/bytes/collectedBytes.ts"
import { cutAtOnce } from "./cutAtOnce.ts"

/** Chunks of a body that may be of any size. */
const FREE_CHUNKS = 64
/** The average size of all further chunks has to be at least this, in bytes. */
const MIN_CHUNK_BYTES = 256
/** What the framing of chunks, extensions included, may take beside as many bytes as the body has. */
const FREE_FRAMING_BYTES = 128 * 1024

/**
 * A request whose body is kept in one buffer until it is read. Node buffers up to 64 KiB of a body before anybody reads
 * it, each piece by itself however small: a body in chunks of one byte would take some 13 MB, on each connection whose
 * request waits.
 *
 * Each chunk costs a call, however small it is: a megabyte per second in chunks of one byte takes a quarter of a
 * processor. So the connection is cut if the chunks are tiny or mostly extensions, also while the body of a refused
 * request is passed over.
 */
export class UnreadBody extends IncomingMessage {
  readonly #unread = new CollectedBytes(this.readableHighWaterMark)
  #ended = false
  #isRead = false
  #pieces = 0
  #received = 0
  /** What the connection had brought when the body began. */
  readonly #before = this.socket.bytesRead

  override push(piece: Uint8Array<ArrayBuffer> | null): boolean {
    if (piece !== null && this.#isTooFine(piece.length)) cutAtOnce(this.socket)
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

  /** Node calls this when the request was answered before its body was read. Its own would hide the rest from `push`. */
  _dump(): void {
    this.removeAllListeners("data")
    this.resume()
  }

  /** A body of known length comes in as many pieces as the network makes of it, which its sender does not choose. */
  #isTooFine(bytes: number): boolean {
    this.#pieces += 1
    this.#received += bytes
    const further = this.#pieces - FREE_CHUNKS
    if (further <= 0 || this.headers["transfer-encoding"] === undefined) return false
    const onTheWire = this.socket.bytesRead - this.#before
    return this.#received < further * MIN_CHUNK_BYTES || onTheWire > 2 * this.#received + FREE_FRAMING_BYTES
  }
}
