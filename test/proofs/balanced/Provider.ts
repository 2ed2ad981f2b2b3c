/** An OpenAI-compatible provider that echoes the last message after a moment, and counts each prompt. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import { listening } from "../../support/listening.ts"

/** Prompts with this text are answered only after `release`. */
export const HOLD = "hold this"

/** Long enough that requests are in flight whenever a proxy is killed. */
const THINKING_MS = 10

interface Request {
  readonly stream?: boolean
  readonly messages: ReadonlyArray<{ readonly content: string }>
}

const bodyOf = async (request: IncomingMessage): Promise<Request> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += chunk
  // Only proxies call it, with chat completions requests.
  return JSON.parse(text) as Request
}

const COMMON = { id: "c1", created: 1, model: "fast" }

const answer = (response: ServerResponse, content: string) => {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }]
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ ...COMMON, object: "chat.completion", choices }))
}

const stream = (response: ServerResponse, content: string) => {
  response.setHeader("content-type", "text/event-stream")
  for (const [delta, finish_reason] of [
    [{ role: "assistant", content: content.slice(0, 4) }, null],
    [{ content: content.slice(4) }, null],
    [{}, "stop"],
  ] as const) {
    const chunk = { ...COMMON, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  response.end("data: [DONE]\n\n")
}

/** Runs until the scope closes. */
export const runProvider = Effect.gen(function* () {
  const asked = new Map<string, number>()
  const holding = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = createServer(
    (request, response) =>
      void bodyOf(request).then(async ({ messages, stream: streamed }) => {
        const content = messages.at(-1)?.content ?? ""
        asked.set(content, (asked.get(content) ?? 0) + 1)
        if (content === HOLD) {
          holding.resolve()
          await released.promise
        }
        await setTimeout(THINKING_MS)
        if (streamed === true) stream(response, content)
        else answer(response, content)
      }),
  )
  const port = yield* listening(server)
  return { url: `http://127.0.0.1:${port}/v1`, asked, holding: holding.promise, release: released.resolve }
})
