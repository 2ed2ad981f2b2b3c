/** A man in the middle over real HTTP: forwards, changes or drops requests between clients and a proxy. */
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { Effect } from "effect"
import { listening } from "./listening.ts"

export interface Passing {
  readonly method: string
  readonly path: string
  readonly body: string
}

/** The answer to a request: the proxy's or an invented one. */
export type PassOn = (asked: Passing, onward: (asked: Passing) => Promise<Response>) => Promise<Response>

/** Starts a server before `url` for the scope, and records its requests. */
export const makeMiddleman = Effect.fnUntraced(function* (url: string, passOn: PassOn) {
  const asked: Array<Passing> = []
  const onward = ({ body, method, path }: Passing) =>
    fetch(url + path, {
      method,
      ...(method === "GET" ? {} : { body, headers: { "content-type": "application/json" } }),
    })
  const server = createServer((request, response) => {
    void (async () => {
      const passing = { method: request.method ?? "", path: request.url ?? "", body: await text(request) }
      asked.push(passing)
      const answer = await passOn(passing, onward)
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" })
      response.end(await answer.text())
    })().catch(() => response.destroy())
  })
  return { url: `http://127.0.0.1:${yield* listening(server)}`, asked }
})
