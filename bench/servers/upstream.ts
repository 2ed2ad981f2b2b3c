/**
 * A provider in OpenAI's format that answers at once. A stream sends WORDS words, or without WORDS the whole answer in one
 * piece. `GET /count` returns the number of calls. Environment: ANSWER, WORDS, WORDS_PER_SECOND (0: as fast as possible, one
 * write per word), WRITES_PER_SECOND (default: one per word).
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setImmediate as yieldNow } from "node:timers/promises"

const { ANSWER = "A short answer.", WORDS, WORDS_PER_SECOND = "0" } = process.env
const { WRITES_PER_SECOND = WORDS_PER_SECOND } = process.env
const words = Number(WORDS ?? 1)
const rate = Number(WORDS_PER_SECOND) / 1000

const common = { id: "chatcmpl-1", created: 1_700_000_000, model: "m" }
const usage = { prompt_tokens: 12, completion_tokens: words, total_tokens: 12 + words }

const whole = JSON.stringify({
  ...common,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: ANSWER }, finish_reason: "stop" }],
  usage,
})

const event = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({
    ...common,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`
const first = event({ role: "assistant", content: "" }, null)
const word = event({ content: WORDS === undefined ? ANSWER : "word " }, null)
const last = `${event({}, "stop")}data: ${JSON.stringify({
  ...common,
  object: "chat.completion.chunk",
  choices: [],
  usage,
})}\n\ndata: [DONE]\n\n`

interface Open {
  readonly response: ServerResponse
  readonly began: number
  sent: number
}
const open = new Set<Open>()

/** One timer for all streams, because CPU used here is taken from the measured server. */
const writeDue = (): void => {
  const now = performance.now()
  for (const stream of open) {
    const { began, response, sent } = stream
    const due = Math.min(words, Math.floor((now - began) * rate))
    if (due > sent) response.write(word.repeat(due - sent))
    stream.sent = due
    if (due < words && !response.destroyed) continue
    open.delete(stream)
    response.end(last)
  }
}
if (rate > 0) setInterval(writeDue, 1000 / Number(WRITES_PER_SECOND))

const stream = async (response: ServerResponse): Promise<void> => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  if (WORDS === undefined) return void response.end(first + word + last)
  response.write(first)
  if (rate > 0) return void open.add({ response, began: performance.now(), sent: 0 })
  for (let sent = 0; sent < words && !response.destroyed; sent++) {
    // Written in one turn, they would arrive as one piece.
    await yieldNow()
    response.write(word)
  }
  response.end(last)
}

let calls = 0

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ calls }))
    return
  }
  calls++
  let body = ""
  request.setEncoding("utf8").on("data", (part: string) => (body += part))
  request.once("end", () => {
    if (/"stream":\s*true/.test(body)) return void stream(response)
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(whole) })
    response.end(whole)
  })
})
// Outlasts the pause between two rounds of a subject.
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => {
  // A server that listens on a port has an address object.
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
