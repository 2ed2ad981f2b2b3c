/**
 * A provider on a free port that caches exact prefixes of requests, up to the end of a message, like the vendors. It answers every
 * API, whole and streamed, and counts cache hits.
 */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { text as textOf } from "node:stream/consumers"
import { Effect, type Scope } from "effect"

export interface CachingProvider {
  readonly url: string
  /** Requests whose messages, except for the last two, had been answered here. */
  readonly found: number
  /** Requests with earlier messages that were not all cached. */
  readonly missed: number
  /** Fails all requests after this many successes, until the next call. */
  readonly failAfter: (requests: number) => void
}

/** Returns the ends of the elements of the array at `from` in a JSON text. */
const elementEnds = (json: string, from: number): ReadonlyArray<number> => {
  const ends: Array<number> = []
  let depth = 0
  for (let i = from; i < json.length; i++) {
    const character = json[i]
    if (character === '"') {
      for (i++; json[i] !== '"'; i++) if (json[i] === "\\") i++
    } else if (character === "[" || character === "{") depth++
    else if (character === "]" || character === "}") {
      depth--
      if (depth === 1) ends.push(i + 1)
      if (depth === 0) return ends
    }
  }
  return ends
}

/** Returns the prefixes of a request, up to the end of each message. */
const beginnings = (body: string): ReadonlyArray<string> => {
  const list = /"(?:messages|input)":(?=\[)/.exec(body)
  if (list === null) throw new Error(`no list of messages: ${body}`)
  return elementEnds(body, list.index + list[0].length).map((end) => body.slice(0, end))
}

const chatUsage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
const common = { id: "c", created: 1, model: "m" }
const event = (data: object, name?: string) =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

const chunk = (delta: object, finish: string | null) =>
  event({ ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })

const usage = { input_tokens: 3, output_tokens: 1 }
const text = { type: "text", text: "ok" }
const message = {
  id: "m",
  type: "message",
  role: "assistant",
  model: "m",
  content: [text],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
}
const item = {
  id: "i",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "ok", annotations: [] }],
}
const response = { id: "r", object: "response", model: "m", status: "completed", output: [item], usage }
const named = (...events: ReadonlyArray<{ readonly type: string; readonly [member: string]: unknown }>) =>
  events.map((data) => event(data, data.type)).join("")

/** Whole and streamed answers of each API, by path. */
const ANSWERS: Readonly<Record<string, { readonly whole: object; readonly streamed: string }>> = {
  "/chat/completions": {
    whole: {
      ...common,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
      usage: chatUsage,
    },
    streamed: `${chunk({ role: "assistant", content: "ok" }, null)}${chunk({}, "stop")}data: [DONE]\n\n`,
  },
  "/messages": {
    whole: message,
    streamed: named(
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: { ...text, text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "ok" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ),
  },
  "/responses": {
    whole: response,
    streamed: named(
      { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
      { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: "ok" },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ),
  },
}

class Cache {
  found = 0
  missed = 0
  left = Infinity
  private readonly seen = new Set<string>()

  /** Takes a request, or refuses it with `false`. */
  take(body: string): boolean {
    if (this.left <= 0) return false
    this.left--
    const all = beginnings(body)
    // A turn adds an answer and a question.
    const earlier = all.at(-3)
    if (earlier !== undefined) this[this.seen.has(earlier) ? "found" : "missed"]++
    for (const beginning of all) this.seen.add(beginning)
    return true
  }
}

const answerTo = async (cache: Cache, request: IncomingMessage) => {
  const body = await textOf(request)
  const path = Object.keys(ANSWERS).find((path) => request.url?.endsWith(path) === true)
  const answer = path === undefined ? undefined : ANSWERS[path]
  if (answer === undefined) throw new Error(`no such path: ${request.url}`)
  if (!cache.take(body)) return { status: 500, type: "application/json", text: '{"error":{"message":"failed"}}' }
  return /"stream":\s*true/.test(body)
    ? { status: 200, type: "text/event-stream", text: answer.streamed }
    : { status: 200, type: "application/json", text: JSON.stringify(answer.whole) }
}

export const cachingProvider: Effect.Effect<CachingProvider, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const cache = new Cache()
    const server = createServer((request, response) => {
      void answerTo(cache, request).then(
        ({ status, text, type }) => response.writeHead(status, { "content-type": type }).end(text),
        (error: Error) => response.destroy(error),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    // `address()` is a string only for pipes.
    const { port } = server.address() as AddressInfo
    return {
      server,
      url: `http://127.0.0.1:${port}`,
      get found() {
        return cache.found
      },
      get missed() {
        return cache.missed
      },
      failAfter: (requests: number) => {
        cache.left = requests
      },
    }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }),
)
