/** Reads server-sent events (WHATWG HTML §9.2) from a response body, with a limit on what one event may hold. */
import { Tampered } from "../errors.ts"
import type { AnswerBody } from "../transport/httpTypes.ts"

export interface ServerSentEvent {
  readonly event: string
  readonly data: string
}

/** Largest event, in UTF-16 code units. A whole answer of 32 MiB in place of a stream is one frame, and has 44 MiB when sealed. */
export const MAX_EVENT_LENGTH = 48 * 1024 * 1024
const LINE_END = /\r\n|\n|\r/

/** Returns the events of `body` in order. Drops an unfinished event at the end. Throws `Tampered` at invalid UTF-8. */
export async function* serverSentEvents(body: AnswerBody): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let unfinished = ""
  let afterCarriageReturn = false
  let event = ""
  let data: Array<string> = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const text = decode(decoder, value)
      if (text === "") continue
      // Searches only the new text, so that a long line in small pieces takes linear time. A leading LF may be the second half
      // of a CRLF whose CR ended the last line.
      const lines = text.slice(afterCarriageReturn && text.startsWith("\n") ? 1 : 0).split(LINE_END)
      afterCarriageReturn = text.endsWith("\r")
      lines[0] = unfinished + (lines[0] ?? "")
      unfinished = lines.pop() ?? ""
      for (const line of lines) {
        size += line.length
        if (line === "") {
          if (data.length > 0) yield { event: event === "" ? "message" : event, data: data.join("\n") }
          event = ""
          data = []
          size = 0
        } else if (line.startsWith("data:")) data.push(fieldValue(line, 5))
        else if (line.startsWith("event:")) event = fieldValue(line, 6)
      }
      if (size + unfinished.length > MAX_EVENT_LENGTH) throw new Tampered("An event of the stream is too large.")
    }
  } finally {
    // Hangs up if the reader stops early. Cancelling a body that failed or ended does nothing.
    await reader.cancel().catch(() => undefined)
  }
}

const decode = (decoder: TextDecoder, piece: Uint8Array): string => {
  try {
    return decoder.decode(piece, { stream: true })
  } catch (cause) {
    throw new Tampered("An event of the stream is not UTF-8.", { cause })
  }
}

const fieldValue = (line: string, from: number): string => line.slice(line.charCodeAt(from) === 32 ? from + 1 : from)
