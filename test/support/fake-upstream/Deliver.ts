/** Sends replies, intact or faulty. */
import type { Exchange } from "./Exchange.ts"
import type { Answer, Break, Fault } from "./Reply.ts"
import type { FullAnswer } from "./FullAnswer.ts"
import type { ErrorReply, Frame, WireFormat } from "./WireFormat.ts"

const FLOOD_BYTES = 64 * 2 ** 20
const OVERSIZED_BYTES = 16 * 2 ** 20
const FLOOD_CHUNK = 16 * 1024
const EVENTS = "text/event-stream; charset=utf-8"
const JSON_TYPE = "application/json; charset=utf-8"
const GARBAGE = '{"choices":[{"delta":{"content":"\u0000 this is not JSON'

/** An answer as it is written, with the texts of its faults. */
interface Written {
  readonly frames: ReadonlyArray<Frame>
  /** The index of the frame before which a fault comes. */
  readonly breakAt: number
  readonly garbage: string
  readonly error: string
  /** Something harmless of about this length. */
  readonly filler: (length: number) => string
}

/** Applies a fault in the middle of an answer. Returns whether the fault ended it. */
const breakAnswer = async (exchange: Exchange, { error, filler, garbage }: Written, how: Break["how"]) => {
  switch (how) {
    case "silence":
      await exchange.silence()
      return true
    case "reset":
    case "cut":
      await exchange.breakOff(how)
      return true
    case "end":
      await exchange.end()
      return true
    case "error":
      await exchange.write(error)
      await exchange.end()
      return true
    case "flood": {
      const piece = filler(FLOOD_CHUNK)
      for (let sent = 0; sent < FLOOD_BYTES; sent += piece.length) await exchange.write(piece)
      await exchange.breakOff("cut")
      return true
    }
    case "garbage":
      await exchange.write(garbage)
      return false
    case "oversized":
      await exchange.write(filler(OVERSIZED_BYTES))
      return false
  }
}

/** The index of the first frame with content, or of the end if there is none. */
const openingLength = (frames: ReadonlyArray<Frame>): number => {
  const first = frames.findIndex((frame) => frame.kind === "content")
  return first === -1 ? Math.min(1, frames.length - 1) : first
}

/** Index of the first frame behind `after` chunks with content; the frames that open an answer come before. */
const breakIndex = (frames: ReadonlyArray<Frame>, after: number): number => {
  const content = frames.flatMap((frame, index) => (frame.kind === "content" ? [index] : []))
  const last = content[Math.min(after, content.length) - 1]
  return last === undefined ? openingLength(frames) : last + 1
}

const asStream = (format: WireFormat, full: FullAnswer, withUsage: boolean, breaks: Break | undefined): Written => {
  const frames = format.frames(full, withUsage)
  return {
    frames,
    breakAt: breakIndex(frames, breaks?.after ?? 0),
    garbage: format.frame(GARBAGE),
    error: format.errorFrame,
    filler: (length) => format.chunk(full, "x".repeat(length)),
  }
}

/** A whole answer breaks in its middle; any other fault comes before it, where white space is valid JSON. */
const asWhole = (format: WireFormat, body: string, breaks: Break | undefined): Written => {
  const half = Math.ceil(body.length / 2)
  return {
    frames: [body.slice(0, half), body.slice(half)].map((text) => ({ kind: "content", text })),
    breakAt: ["silence", "reset", "cut", "end"].includes(breaks?.how ?? "") ? 1 : 0,
    garbage: GARBAGE,
    error: JSON.stringify(format.error("overloaded").body),
    filler: (length) => " ".repeat(length),
  }
}

export const deliverAnswer = async (
  exchange: Exchange,
  format: WireFormat,
  answer: Answer,
  full: FullAnswer,
): Promise<void> => {
  const { breaks, contentType, firstChunkAfter, gap, headersAfter, sentinel } = answer.delivery ?? {}
  const { stream = false, usage = false } = exchange.record.asked ?? {}
  const body = stream ? "" : JSON.stringify(format.whole(full))
  const written = stream ? asStream(format, full, usage, breaks) : asWhole(format, body, breaks)
  // A body that will end early or grow must not announce its length.
  const sized = !stream && (breaks === undefined || ["silence", "reset", "cut"].includes(breaks.how))
  await exchange.sleep(headersAfter)
  exchange.head(200, {
    "content-type": contentType ?? (stream ? EVENTS : JSON_TYPE),
    ...(sized ? { "content-length": String(Buffer.byteLength(body)) } : {}),
    ...(stream ? { "cache-control": "no-cache" } : {}),
    ...answer.headers,
  })
  const opening = openingLength(written.frames)
  for (const [index, frame] of written.frames.entries()) {
    if (index === opening) await exchange.sleep(firstChunkAfter)
    if (breaks !== undefined && index === written.breakAt && (await breakAnswer(exchange, written, breaks.how))) return
    if (frame.kind === "sentinel" && sentinel !== undefined) continue
    if (stream && frame.kind === "content" && index > opening) await exchange.sleep(gap)
    await exchange.write(frame.text)
  }
  await exchange.end()
}

export const deliverError = async (exchange: Exchange, format: WireFormat, error: ErrorReply): Promise<void> => {
  const json = JSON.stringify(error.body)
  // A reply without an error status has to look like an answer of the requested form.
  const framed = error.status === 200 && exchange.record.asked?.stream === true
  exchange.head(error.status, {
    "content-type": framed ? EVENTS : JSON_TYPE,
    ...error.headers,
  })
  await exchange.write(framed ? format.frame(json) : json)
  await exchange.end()
}

export const deliverFault = async (exchange: Exchange, format: WireFormat, fault: Fault): Promise<void> => {
  switch (fault.fault) {
    case "vendor":
      return deliverError(exchange, format, format.error(fault.objection, fault.options))
    case "status":
      exchange.head(fault.status, fault.headers)
      if (fault.body !== "") await exchange.write(fault.body)
      return exchange.end()
    case "reset":
      return exchange.breakOff("reset")
    case "silence":
      return exchange.silence()
    case "raw":
      return exchange.raw(fault.bytes)
  }
}
