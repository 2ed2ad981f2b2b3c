/** A minimal caller that shows what is really on the wire. */
import { type Agent, type ClientRequest, type IncomingHttpHeaders, request } from "node:http"
import type { WireName } from "./Asked.ts"

const BODIES: Readonly<Record<WireName, (text: string, stream: boolean) => object>> = {
  openai: (text, stream) => ({ model: "m", stream, messages: [{ role: "user", content: text }] }),
  anthropic: (text, stream) => ({ model: "m", max_tokens: 9, stream, messages: [{ role: "user", content: text }] }),
  gemini: (text) => ({ contents: [{ role: "user", parts: [{ text }] }] }),
}

const PATHS: Readonly<Record<WireName, (stream: boolean) => string>> = {
  openai: () => "/v1/chat/completions",
  anthropic: () => "/v1/messages",
  gemini: (stream) => `/v1beta/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
}

const HEADERS = {
  "content-type": "application/json",
  authorization: "Bearer key",
  "x-goog-api-key": "key",
  "anthropic-version": "2023-06-01",
}

/** The response so far. Times are on the clock of `performance.now()`. */
export interface Heard {
  status: number | undefined
  headers: IncomingHttpHeaders
  headersAt: number | undefined
  /** Every piece of the body as HTTP delivered it. */
  pieces: Array<Buffer>
  firstPieceAt: number | undefined
  /** How it ended; `undefined` while it goes on. */
  over: "complete" | "broken" | undefined
  errorCode: string | undefined
}

export interface Call {
  readonly heard: Heard
  /** The body so far. */
  readonly text: () => string
  /** Settles when the response ends in any way. */
  readonly over: Promise<Heard>
  /** Settles as soon as `done` holds; it is asked after every piece. */
  readonly until: (done: (heard: Heard) => boolean) => Promise<Heard>
  readonly hangUp: () => void
}

export interface CallOptions {
  readonly text?: string
  readonly stream?: boolean
  /** Default: every call has a connection of its own. */
  readonly agent?: Agent
}

/** Calls a fake at `url`. */
export const call = (url: string, wire: WireName, { agent, stream = true, text = "Hello" }: CallOptions = {}): Call => {
  const heard: Heard = {
    status: undefined,
    headers: {},
    headersAt: undefined,
    pieces: [],
    firstPieceAt: undefined,
    over: undefined,
    errorCode: undefined,
  }
  let waiting: Array<() => void> = []
  const changed = () => {
    const ready = waiting
    waiting = []
    for (const wake of ready) wake()
  }
  const until = async (done: (heard: Heard) => boolean): Promise<Heard> => {
    while (!done(heard)) await new Promise<void>((resolve) => waiting.push(resolve))
    return heard
  }
  const finish = (over: "complete" | "broken") => {
    heard.over ??= over
    changed()
  }
  const broke = (error: NodeJS.ErrnoException) => {
    heard.errorCode ??= error.code
    finish("broken")
  }
  const outgoing: ClientRequest = request(
    `${url}${PATHS[wire](stream)}`,
    { method: "POST", headers: HEADERS, agent: agent ?? false },
    (incoming) => {
      heard.status = incoming.statusCode
      heard.headers = incoming.headers
      heard.headersAt = performance.now()
      changed()
      incoming.on("data", (piece: Buffer) => {
        heard.firstPieceAt ??= performance.now()
        heard.pieces.push(piece)
        changed()
      })
      incoming.on("end", () => finish("complete"))
      incoming.on("error", broke)
    },
  )
  outgoing.on("error", broke)
  outgoing.end(JSON.stringify(BODIES[wire](text, stream)))
  return {
    heard,
    text: () => Buffer.concat(heard.pieces).toString("utf8"),
    over: until((heard) => heard.over !== undefined),
    until,
    hangUp: () => outgoing.destroy(),
  }
}
