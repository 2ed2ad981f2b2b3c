/** Parses the bytes of a connection into answers, as an observer of HTTP can. */
import { connect, type Socket } from "node:net"
import { Effect } from "effect"
import { postOf } from "./sockets.ts"

/** The received part of an answer. */
export interface RawAnswer {
  /** Status line and headers, without `Date`. */
  readonly head: string
  /** Complete chunks (RFC 9112 §7.1). */
  readonly chunks: ReadonlyArray<string>
  readonly ended: boolean
}

/** Parses the received bytes of one answer. */
const rawAnswer = (text: string): RawAnswer => {
  const end = text.indexOf("\r\n\r\n")
  if (end < 0) return { head: "", chunks: [], ended: false }
  const head = text.slice(0, end).replace(/^(date: ).*$/im, "$1")
  if (!/^transfer-encoding: chunked$/im.test(head)) throw new Error(`not sent in chunks: ${text.slice(0, 2000)}`)
  const chunks: Array<string> = []
  let at = end + 4
  for (;;) {
    const size = /^([\da-f]+)\r\n/i.exec(text.slice(at, at + 16))
    if (size === null) return { head, chunks, ended: false }
    const from = at + size[0].length
    const to = from + Number.parseInt(size[1] ?? "", 16)
    if (text.length < to + 2) return { head, chunks, ended: false }
    if (from === to) return { head, chunks, ended: true }
    chunks.push(text.slice(from, to))
    at = to + 2
  }
}

/** A connection for sequential requests. */
export class RawConnection {
  private readonly socket: Socket
  private text = ""
  private look: () => void = () => undefined

  private constructor(socket: Socket) {
    this.socket = socket
    const heard = () => this.look()
    socket.on("data", (piece) => {
      this.text += piece.toString("latin1")
      heard()
    })
    socket.on("error", heard)
    socket.on("close", heard)
  }

  static make(port: number) {
    return Effect.acquireRelease(
      Effect.promise(async () => {
        const socket = connect({ port, host: "127.0.0.1" })
        await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject))
        return new RawConnection(socket)
      }),
      ({ socket }) => Effect.sync(() => socket.destroy()),
    )
  }

  send(path: string, body: unknown): void {
    this.text = ""
    this.socket.write(postOf(path, body))
  }

  get answer(): RawAnswer {
    return rawAnswer(this.text)
  }

  /** Waits until `holds` is true for the answer. */
  until(holds: (answer: RawAnswer) => boolean): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.look = () => {
        const { answer } = this
        if (holds(answer)) resolve(answer)
        else if (this.socket.destroyed) reject(new Error(`the connection ended in: ${this.text.slice(0, 2000)}`))
      }
      this.look()
    })
  }
}
