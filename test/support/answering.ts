import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { listening } from "./listening.ts"

/** Starts a server that answers every request with `answer`, until the scope closes. Returns its URL. */
export const answering = (answer: (response: ServerResponse, request: IncomingMessage) => unknown) =>
  Effect.map(
    Effect.suspend(() => listening(createServer((request, response) => void answer(response, request)))),
    (port) => `http://127.0.0.1:${port}`,
  )
