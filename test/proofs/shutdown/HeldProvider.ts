/**
 * A provider whose streams send a few words and then wait for the test, so that requests in flight do not depend on time.
 * The prompt selects how a stream continues.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { listening } from "../../support/listening.ts"

/**
 * - `finishes`: on release sends the rest and ends
 * - `hangs`: sends nothing more
 * - `floods`: sends `FLOOD_WORDS` long words at once, then hangs
 * - `silent`: never answers
 */
export type Manner = "finishes" | "hangs" | "floods" | "silent"

export const OPENING = "one two "
export const REST = "three four"
/** Chunks of a flood, and characters of each. */
export const FLOOD_WORDS = 400
export const FLOOD_LENGTH = 4096

const chunk = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: "held",
    object: "chat.completion.chunk",
    created: 1,
    model: "held",
    choices: [{ index: 0, delta: finish === null ? { content } : {}, finish_reason: finish }],
  })}\n\n`

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const piece of request) text += String(piece)
  return text
}

export interface HeldProvider {
  readonly url: string
  /** Calls in flight. */
  readonly open: () => number
  readonly release: () => void
}

export const runHeldProvider = Effect.gen(function* () {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let open = 0
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open++
    response.on("close", () => open--)
    const body = await bodyOf(request)
    const manner = /(finishes|hangs|floods|silent)/.exec(body)?.[1]
    if (manner === "silent") return
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(chunk(OPENING))
    if (manner === "floods") for (let n = 0; n < FLOOD_WORDS; n++) response.write(chunk("x".repeat(FLOOD_LENGTH)))
    if (manner !== "finishes") return
    await released
    response.end(`${chunk(REST)}${chunk("", "stop")}data: [DONE]\n\n`)
  }
  // A caller that hangs up ends its request with an error.
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  const port = yield* listening(server)
  return { url: `http://127.0.0.1:${port}/v1`, open: () => open, release } satisfies HeldProvider
})
