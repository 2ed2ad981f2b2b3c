/** A provider that streams without end as fast as it is read, and counts the bytes taken. */
import { createServer, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { listening } from "../../support/listening.ts"

/** Bytes that each stream would send if read. */
export const FLOOD_BYTES = 32 * 1024 * 1024

const CHUNK = {
  id: "1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { content: "x".repeat(16 * 1024) }, finish_reason: null }],
}
const EVENT = `data: ${JSON.stringify(CHUNK)}\n\n`

/** Writes more whenever the system has accepted the last write. */
const flood = (response: ServerResponse): void => {
  let left = FLOOD_BYTES
  const write = () => {
    while (left > 0 && !response.destroyed) {
      left -= EVENT.length
      if (!response.write(EVENT)) return void response.once("drain", write)
    }
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  write()
}

export interface FloodingProvider {
  /** Its base URL, as an OpenAI-compatible provider. */
  readonly url: string
  /** Bytes that the system has accepted, per open stream. */
  readonly taken: () => ReadonlyArray<number>
}

export const startFloodingProvider = Effect.gen(function* () {
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    open.add(response)
    response.on("close", () => open.delete(response))
    request.resume().on("end", () => flood(response))
  })
  return {
    url: `http://127.0.0.1:${yield* listening(server)}/v1`,
    taken: () => [...open].map(({ socket }) => (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0)),
  } satisfies FloodingProvider
})
