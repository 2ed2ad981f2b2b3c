/** Sends replies, intact or faulty. */
import type { Exchange } from "./Exchange.ts"
import type { Answer, Break, Delivery, Fault } from "./Reply.ts"
import type { FullAnswer } from "./FullAnswer.ts"
import type { ErrorReply, Frame, WireFormat } from "./WireFormat.ts"

const MEBIBYTE = 2 ** 20
const FLOOD_BYTES = 64 * MEBIBYTE
const OVERSIZED_BYTES = 16 * MEBIBYTE
const FLOOD_CHUNK = 16 * 1024
const EVENTS = "text/event-stream; charset=utf-8"
const JSON_TYPE = "application/json; charset=utf-8"
const GARBAGE = '{"choices":[{"delta":{"content":"\u0000 this is not JSON'

/** Sends `piece` over and over until `bytes` are out or the caller hangs up. */
const flood = async (exchange: Exchange, bytes: number, piece: string): Promise<void> => {
  for (let sent = 0; sent < bytes; sent += piece.length) await exchange.write(piece)
  await exchange.breakOff("cut")
}

/** Applies a fault in the middle of a stream. Returns whether the fault ended it. */
const breakStream = async (exchange: Exchange, format: WireFormat, full: FullAnswer, how: Break): Promise<boolean> => {
  switch (how.how) {
    case "silence":
      await exchange.silence()
      return true
    case "reset":
    case "cut":
      await exchange.breakOff(how.how)
      return true
    case "end":
      await exchange.end()
      return true
    case "error":
      await exchange.write(format.errorFrame)
      await exchange.end()
      return true
    case "flood":
      await flood(exchange, how.bytes ?? FLOOD_BYTES, format.chunk(full, "x".repeat(FLOOD_CHUNK)))
      return true
    case "garbage":
      await exchange.write(format.frame(GARBAGE))
      return false
    case "oversized":
      await exchange.write(format.chunk(full, "x".repeat(how.bytes ?? OVERSIZED_BYTES)))
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

/** Waits for the next token, with keep-alives in between. */
const think = async (exchange: Exchange, format: WireFormat, ms = 0, pings = 0): Promise<void> => {
  for (let ping = 0; ping < pings; ping++) {
    await exchange.sleep(ms / (pings + 1))
    await exchange.write(format.ping)
  }
  await exchange.sleep(ms / (pings + 1))
}

const deliverStream = async (
  exchange: Exchange,
  format: WireFormat,
  full: FullAnswer,
  delivery: Delivery,
): Promise<void> => {
  const frames = format.frames(full, exchange.record.asked?.usage === true)
  const opening = openingLength(frames)
  const breakAt = delivery.breaks === undefined ? -1 : breakIndex(frames, delivery.breaks.after)
  for (const [index, frame] of frames.entries()) {
    if (index === opening) await think(exchange, format, delivery.firstChunkAfter, delivery.pings)
    if (delivery.breaks !== undefined && index === breakAt) {
      const over = await breakStream(exchange, format, full, delivery.breaks)
      if (over) return
    }
    if (frame.kind === "sentinel" && delivery.sentinel !== undefined) continue
    if (frame.kind === "content" && index > opening) await think(exchange, format, delivery.gap, delivery.gapPings)
    await exchange.write(frame.text)
  }
  await (delivery.sentinel === "never" ? exchange.silence() : exchange.end())
}

const deliverWhole = async (
  exchange: Exchange,
  format: WireFormat,
  body: string,
  delivery: Delivery,
): Promise<void> => {
  const half = body.slice(0, Math.ceil(body.length / 2))
  await exchange.sleep(delivery.firstChunkAfter)
  switch (delivery.breaks?.how) {
    case undefined:
      await exchange.write(body)
      return exchange.end()
    case "silence":
      await exchange.write(half)
      return exchange.silence()
    case "reset":
    case "cut":
      await exchange.write(half)
      return exchange.breakOff(delivery.breaks.how)
    case "end":
      await exchange.write(half)
      return exchange.end()
    case "garbage":
      await exchange.write(GARBAGE)
      return exchange.end()
    case "error":
      await exchange.write(JSON.stringify(format.error("overloaded").body))
      return exchange.end()
    // White space before a value is valid JSON, so only the size is wrong here.
    case "flood":
      return flood(exchange, delivery.breaks.bytes ?? FLOOD_BYTES, " ".repeat(FLOOD_CHUNK))
    case "oversized":
      await exchange.write(" ".repeat(delivery.breaks.bytes ?? OVERSIZED_BYTES))
      await exchange.write(body)
      return exchange.end()
  }
}

export const deliverAnswer = async (
  exchange: Exchange,
  format: WireFormat,
  answer: Answer,
  full: FullAnswer,
): Promise<void> => {
  const delivery = answer.delivery ?? {}
  const stream = exchange.record.asked?.stream === true
  const body = stream ? "" : JSON.stringify(format.whole(full))
  // A body that will end early or grow must not announce its length.
  const sized = !stream && (delivery.breaks === undefined || ["silence", "reset", "cut"].includes(delivery.breaks.how))
  await exchange.sleep(delivery.headersAfter)
  exchange.head(200, {
    "content-type": delivery.contentType ?? (stream ? EVENTS : JSON_TYPE),
    ...(sized ? { "content-length": String(Buffer.byteLength(body)) } : {}),
    ...(stream ? { "cache-control": "no-cache" } : {}),
    ...answer.headers,
  })
  return stream ? deliverStream(exchange, format, full, delivery) : deliverWhole(exchange, format, body, delivery)
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
