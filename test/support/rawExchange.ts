/** Parses the bytes of a connection into answers, as an observer of HTTP can. */
import { Effect } from "effect"
import { openSocket, postOf } from "./sockets.ts"

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
export const rawConnection = (port: number) =>
  Effect.map(openSocket(port), ({ received, receives, write }) => {
    let begin = 0
    const answerIn = (text: string) => rawAnswer(text.slice(begin))
    return {
      send: (path: string, body: unknown) => {
        begin = received().length
        write(postOf(path, body))
      },
      answer: () => answerIn(received()),
      /** Waits until `holds` is true for the answer. */
      until: async (holds: (answer: RawAnswer) => boolean): Promise<RawAnswer> =>
        answerIn(await receives((text) => holds(answerIn(text)))),
    }
  })
