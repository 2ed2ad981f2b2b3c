/** An HTTP server on this machine that acts as a tool. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { Effect } from "effect"
import { startCalculator } from "../../examples/calculator.ts"
import { listening } from "./listening.ts"

export interface ToolRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Behaviour = (request: ToolRequest, response: ServerResponse, index: number) => void

/** Starts a server; `closed` counts answers that the client ended early. */
export const toolServer = Effect.fnUntraced(function* (behave: Behaviour, host = "127.0.0.1") {
  const requests: Array<ToolRequest> = []
  const { promise: called, resolve: noteCalled } = Promise.withResolvers<void>()
  const { promise: hungUp, resolve: noteHungUp } = Promise.withResolvers<void>()
  const server = createServer((incoming: IncomingMessage, response) => {
    response.on("close", () => {
      if (!response.writableFinished) noteHungUp()
    })
    void text(incoming).then((body) => {
      const { headers, method = "", url = "" } = incoming
      const request = { method, url, headers, body }
      requests.push(request)
      noteCalled()
      behave(request, response, requests.length - 1)
    })
  })
  const port = yield* listening(server, host)
  return { url: `http://${host}:${port}`, port, requests, called, hungUp, server }
})

/** The calculator of the examples, an MCP server, until the scope closes. */
export const calculator = (...options: Parameters<typeof startCalculator>) =>
  Effect.acquireRelease(
    Effect.promise(() => startCalculator(...options)),
    ({ stop }) => Effect.sync(stop),
  )
