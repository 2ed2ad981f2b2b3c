import { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import { CollectedBytes } from "../../domain/bytes/collectedBytes.ts"
import { cutAtOnce } from "./cutAtOnce.ts"

/** First chunks of a body, which may have any size. */
const FREE_CHUNKS = 64
/** Smallest average size of all further chunks, in bytes. */
const MIN_CHUNK_BYTES = 256
/** Bytes of chunk framing, extensions included, allowed in addition to as many as the body has. */
const FREE_FRAMING_BYTES = 128 * 1024

/**
 * A request whose unread body is kept in one buffer. Node buffers up to 64 KiB of an unread body with one object per chunk:
 * in chunks of one byte it would take some 13 MB on each connection.
 *
 * Each chunk costs a call: one megabyte per second in chunks of one byte takes a quarter of a processor. So the connection
 * is cut if the chunks are tiny or mostly extensions, also while the body of a refused request is discarded. The same holds
 * for TLS records.
 */
export class UnreadBody extends IncomingMessage {
  readonly #unread = new CollectedBytes(this.readableHighWaterMark)
  #ended = false
  #isRead = false
  #pieces = 0
  #received = 0
  readonly #isOverTls = this.socket instanceof TLSSocket
  /** Bytes that the connection had received when the body began. */
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

  /** Called by Node when the request was answered before its body was read. Node's version would bypass `push`. */
  _dump(): void {
    this.removeAllListeners("data")
    this.resume()
  }

  /** Only for pieces that the sender chooses: chunks and TLS records. Other bodies are split by the network. */
  #isTooFine(bytes: number): boolean {
    this.#pieces += 1
    this.#received += bytes
    const further = this.#pieces - FREE_CHUNKS
    const isSplitBySender = this.#isOverTls || this.headers["transfer-encoding"] !== undefined
    if (further <= 0 || !isSplitBySender) return false
    const onTheWire = this.socket.bytesRead - this.#before
    return this.#received < further * MIN_CHUNK_BYTES || onTheWire > 2 * this.#received + FREE_FRAMING_BYTES
  }
}
