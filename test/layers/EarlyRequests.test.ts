import { once } from "node:events"
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { holdEarlyRequests } from "../../src/layers/EarlyRequests.ts"

describe("holdEarlyRequests", () => {
  it.live("answers what came before there was anybody to answer, once, and leaves the rest alone", () =>
    Effect.promise(async () => {
      const server = createServer()
      holdEarlyRequests(server)
      await once(server.listen(0, "127.0.0.1"), "listening")
      try {
        const address = server.address()
        assert(address !== null && typeof address === "object")
        const get = async (path: string) => (await fetch(`http://127.0.0.1:${address.port}${path}`)).text()
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
      } finally {
        server.close()
        server.closeAllConnections()
      }
    }),
  )
})
