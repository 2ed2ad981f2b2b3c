/** Routing tags in session ids, and the header that repeats them for load balancers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Unreachable } from "../../src/client/errors.ts"
import type { Fetch } from "../../src/client/sealed/SealedClient.ts"
import { failureOf } from "../support/promises.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"

describe("a proxy with a routing tag", () => {
  it.live("begins its session ids with the tag, and ignores the header", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { routingTag: "pxy7" } })
      yield* Effect.promise(async () => {
        const session = await beginSession(proxy)
        assert.isTrue(session.id.startsWith("pxy7"))
        for (const headers of [
          {},
          { "sealgate-route": "pxy7" },
          { "sealgate-route": "pxy8" },
          { "sealgate-route": "" },
        ]) {
          const { body } = await seal(session, { prompt: "hello" })
          assert.strictEqual((await post(proxy, "/v1/completions", body, headers)).status, 200)
        }
        const { body } = await seal(session, { prompt: "hello" })
        const elsewhere = { ...body, session_id: `pxy8${body.session_id.slice(4)}` }
        const refused = await post(proxy, "/v1/completions", elsewhere, { "sealgate-route": "pxy7" })
        assert.deepInclude(await jsonOf(refused), { status: 410, code: "session-gone" })
      })
    }),
  )
})

describe("a client whose connection breaks while it waits", () => {
  /** Forwards everything, but loses the first response to a request. */
  const losing = (statuses: Array<number>): Fetch => {
    return async (url, init) => {
      const response = await fetch(url, init)
      if (!url.endsWith("/v1/completions")) return response
      statuses.push(response.status)
      if (statuses.length > 1) return response
      await response.body?.cancel()
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) })
    }
  }

  it.live("is not served twice, and reports that to its caller", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      yield* Effect.promise(async () => {
        for (const ask of ["complete", "stream"] as const) {
          const statuses: Array<number> = []
          const client = proxy.client({ fetch: losing(statuses) })
          const error = await failureOf(client[ask]({ prompt: "hello" }))
          assert.isTrue(error instanceof Unreachable && error.mayHaveBeenServed)
          assert.deepStrictEqual(statuses, [200, 409])
          await client.complete({ prompt: "again" })
        }
      })
    }),
  )
})
