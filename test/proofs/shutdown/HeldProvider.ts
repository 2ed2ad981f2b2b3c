/**
 * A provider whose streams say a few words and then wait for the test: what is in flight is decided by it, not by time.
 * The prompt says how a stream goes on.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

/**
 * - `finishes`: on release it says the rest and ends
 * - `hangs`: nothing more comes
 * - `floods`: says `FLOOD_WORDS` long words at once, then hangs
 * - `silent`: it never answers at all
 */
export type Manner = "finishes" | "hangs" | "floods" | "silent"

export const OPENING = "one two "
export const REST = "three four"
/** As many chunks as a flood has, and characters that each of them has. */
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
  /** Calls under way. */
  readonly open: () => number
  readonly release: () => void
}

export const runHeldProvider = Effect.acquireRelease(
  Effect.promise(async () => {
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
    // A caller that has gone ends its request with an error, which is what hanging up is.
    const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    // `address()` is a string only for pipes.
    const { port } = server.address() as AddressInfo
    const provider: HeldProvider = { url: `http://127.0.0.1:${port}/v1`, open: () => open, release }
    return { provider, server }
  }),
  ({ server }) => Effect.sync(() => (server.closeAllConnections(), server.close())),
).pipe(Effect.map(({ provider }) => provider))
