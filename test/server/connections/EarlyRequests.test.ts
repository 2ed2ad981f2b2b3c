import { once } from "node:events"
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { limitConnections } from "../../../src/server/connections/ConnectionLimits.ts"
import { holdEarlyRequests } from "../../../src/server/connections/EarlyRequests.ts"
import { NO_LIMITS } from "../../support/connectionLimits.ts"
import { openSocket } from "../../support/sockets.ts"
import { listening } from "../../support/listening.ts"

/** A server on a free port, without a listener for requests yet. */
const started = Effect.gen(function* () {
  const server = createServer()
  limitConnections(server, NO_LIMITS)
  holdEarlyRequests(server)
  return { server, port: yield* listening(server) }
})

describe("holdEarlyRequests", () => {
  it.live("answers each early request once, and does not affect later ones", () =>
    Effect.gen(function* () {
      const { port, server } = yield* started
      yield* Effect.promise(async () => {
        const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
        const arrived = once(server, "request")
        const early = get("/early")
        await arrived
        const seen: Array<string | undefined> = []
        server.on("request", (request, response) => {
          seen.push(request.url)
          response.end(`answer to ${request.url}`)
        })
        assert.strictEqual(await early, "answer to /early")
        assert.strictEqual(await get("/late"), "answer to /late")
        assert.deepStrictEqual(seen, ["/early", "/late"])
      })
    }),
  )

  it.live("holds requests that expect `100 Continue`, and pipelined ones", () =>
    Effect.gen(function* () {
      const { port, server } = yield* started
      const head = "POST /early HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"
      const arrived = once(server, "request")
      const client = yield* openSocket(port, head)
      yield* Effect.promise(() => arrived)
      client.write("bodyGET /behind HTTP/1.1\r\nhost: x\r\n\r\n")
      server.on("request", (request, response) => {
        request.resume().on("end", () => response.end(`answer to ${request.url}`))
      })
      yield* Effect.promise(() => client.receives(/answer to \/early[^]*answer to \/behind/))
    }),
  )
})
