/** One request and the socket under it: recording, waiting, writing, breaking off. */
import { parseJson } from "../../../src/domain/json/json.ts"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Ending, Recorded } from "./Asked.ts"

/** Unwinds the delivery of a reply whose caller has gone. */
export class Gone extends Error {}

/** Long enough for a local caller to read what was sent: HTTP clients drop unread data when a connection breaks. */
const BEFORE_BREAK_MS = 30

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const flatHeaders = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  )

export class Exchange {
  readonly record: Mutable<Recorded>
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly gone = new AbortController()
  private broken = false

  constructor(request: IncomingMessage, response: ServerResponse, connection: number) {
    this.request = request
    this.response = response
    const url = new URL(request.url ?? "/", "http://fake")
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.record = {
      at: performance.now(),
      connection,
      method: request.method ?? "",
      path: url.pathname,
      headers: flatHeaders(request),
      wire: undefined,
      body: undefined,
      asked: undefined,
      refused: undefined,
      status: undefined,
      ending: undefined,
      endedAt: undefined,
      ended: promise,
    }
    // The socket's own errors (a reset by the caller) end in "close" too.
    request.on("error", () => this.gone.abort())
    response.on("close", () => {
      this.record.ending = this.broken ? "broken" : response.writableFinished ? "answered" : "hung-up"
      this.record.endedAt = performance.now()
      this.gone.abort()
      resolve(this.record.ending)
    })
  }

  /** Reads the body to its end. */
  async read(): Promise<void> {
    const chunks: Array<Buffer> = []
    this.request.on("data", (chunk: Buffer) => chunks.push(chunk))
    await this.unlessGone(once(this.request, "end", { signal: this.gone.signal }))
    const text = Buffer.concat(chunks).toString("utf8")
    this.record.body = parseJson(text) ?? text
  }

  /** Waits some milliseconds, or for a promise. */
  async sleep(time: number | Promise<unknown> = 0): Promise<void> {
    if (typeof time !== "number") await Promise.race([time, this.record.ended])
    else if (time > 0) await this.unlessGone(delay(time, undefined, { signal: this.gone.signal }))
  }

  /** Sends status line and headers at once, before there is any body. */
  head(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.gone.signal.aborted) throw new Gone()
    this.record.status = status
    this.response.writeHead(status, headers)
    this.response.flushHeaders()
  }

  /** Writes each call as a separate piece, and waits while the caller does not read. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.gone.signal.aborted) throw new Gone()
    if (!this.response.write(bytes)) await this.unlessGone(once(this.response, "drain", { signal: this.gone.signal }))
  }

  async end(): Promise<void> {
    this.response.end()
    await this.record.ended
  }

  /** Sends nothing more until the caller goes away. */
  async silence(): Promise<void> {
    await this.record.ended
  }

  /** Closes the connection in the middle: by a reset, or as if the sender had died (`cut`). */
  async breakOff(how: "reset" | "cut"): Promise<void> {
    if (this.response.headersSent) await this.sleep(BEFORE_BREAK_MS)
    this.broken = true
    if (how === "cut") this.request.socket.destroySoon()
    else this.request.socket.resetAndDestroy()
    await this.record.ended
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.broken = true
    this.request.socket.destroy()
  }

  /** Sends raw bytes in place of a response. */
  async raw(bytes: string): Promise<void> {
    this.broken = true
    this.request.socket.end(bytes)
    await this.record.ended
  }

  private async unlessGone(wait: Promise<unknown>): Promise<void> {
    try {
      await wait
    } catch (error) {
      if (this.gone.signal.aborted) throw new Gone()
      throw error
    }
  }
}
