/**
 * A fake vendor without a format: it records bytes and answers with bytes, so that traffic through a proxy can be compared with direct
 * traffic.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { setTimeout as delay } from "node:timers/promises"
import { Effect } from "effect"
import type { NativeEvent } from "./nativeAnswers.ts"
import { listening } from "./listening.ts"

export interface NativeReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Each string is written separately. */
  readonly body: string | ReadonlyArray<string>
  /** After the body: its end (the default), a broken connection, or silence. */
  readonly after?: "cut" | "silence"
}

export interface NativeRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  /** Whether the caller read the whole answer or hung up. */
  readonly ended: Promise<"answered" | "hung-up">
}

/** Lets a local caller read everything before the connection breaks. */
const BEFORE_BREAK_MS = 30

export type AnswerOf = (request: NativeRequest, count: number) => NativeReply

/** Starts a fake that answers with `answer`, until the scope closes. */
export const startNative = Effect.fnUntraced(function* (answer: AnswerOf) {
  const requests: Array<NativeRequest> = []
  const arrivals = new Map<number, () => void>()
  let reply = answer
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await buffer(request)).toString("utf8")
    const ended = once(response, "close").then(() => (response.writableFinished ? "answered" : "hung-up"))
    const record: NativeRequest = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body,
      ended: ended as Promise<"answered" | "hung-up">,
    }
    requests.push(record)
    arrivals.get(requests.length)?.()
    const { body: pieces, headers = {}, status = 200, after } = reply(record, requests.length)
    const type = typeof pieces === "string" ? "application/json" : "text/event-stream"
    response.writeHead(status, { "content-type": type, ...headers })
    for (const piece of typeof pieces === "string" ? [pieces] : pieces) response.write(piece)
    if (after === undefined) response.end()
    if (after === "cut") {
      await delay(BEFORE_BREAK_MS)
      response.destroy()
    }
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  return {
    url: `http://127.0.0.1:${yield* listening(server)}`,
    requests,
    /** The `n`th request, from 1, as soon as it has arrived. */
    received: async (n: number): Promise<NativeRequest> => {
      if (requests.length < n) await new Promise<void>((resolve) => arrivals.set(n, resolve))
      const request = requests[n - 1]
      if (request === undefined) throw new Error(`request ${n} is missing`)
      return request
    },
    /** Replaces the answer. */
    answer: (answer: AnswerOf) => {
      reply = answer
    },
  }
})

/** Server-sent events as Anthropic and OpenAI's Responses write them: the name is the data's type. */
export const namedEvents = (...events: ReadonlyArray<NativeEvent>): ReadonlyArray<string> =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
