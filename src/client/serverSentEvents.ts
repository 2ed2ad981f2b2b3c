/** Reads server-sent events (WHATWG HTML §9.2) from a response body, with a limit on what one event may hold. */
import { Tampered } from "./errors.ts"

export interface ServerSentEvent {
  readonly event: string
  readonly data: string
}

/** Largest event, in UTF-16 code units: several times what one sealed frame can hold. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024

/** The events of `body` in order. Ends when the body ends; an unfinished event at its end is dropped. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let buffer = ""
  let event = ""
  let data: Array<string> = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      buffer += decoder.decode(value, { stream: true })
      let start = 0
      for (let end = lineEnd(buffer, start); end >= 0; end = lineEnd(buffer, start)) {
        const line = buffer.slice(start, end)
        start = end + (buffer.startsWith("\r\n", end) ? 2 : 1)
        size += line.length
        if (line === "") {
          if (data.length > 0) yield { event: event === "" ? "message" : event, data: data.join("\n") }
          event = ""
          data = []
          size = 0
        } else if (line.startsWith("data:")) data.push(fieldValue(line, 5))
        else if (line.startsWith("event:")) event = fieldValue(line, 6)
      }
      buffer = buffer.slice(start)
      if (size + buffer.length > MAX_EVENT_LENGTH) throw new Tampered("An event of the stream is too large.")
    }
  } finally {
    // Whoever stops reading early hangs up; a body that failed or ended has nothing left to cancel.
    await reader.cancel().catch(() => undefined)
  }
}

/** Index of the next line end at or after `from`, or -1. A final CR waits: an LF may follow in the next piece. */
const lineEnd = (text: string, from: number): number => {
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 10 || (code === 13 && i + 1 < text.length)) return i
  }
  return -1
}

const fieldValue = (line: string, from: number): string => line.slice(line.charCodeAt(from) === 32 ? from + 1 : from)
