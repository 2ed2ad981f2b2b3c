/** A sealed request is served once, however the path copies it. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"

const codeOf = async (response: Response) => [response.status, (await jsonOf(response))["code"]]

it.effect("copies of a stream are refused while it runs, also with other ciphertext or spelling", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy)
      const { body } = await seal(session, { prompt: "one two three", stream: true })
      const other = await seal(session, { prompt: "four" })
      const first = await post(proxy, "/v1/completions", body)
      assert.strictEqual(first.status, 200)
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", body)), [409, "replayed"])
      const mixed = { ...body, ciphertext: other.body.ciphertext }
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", mixed)), [409, "replayed"])
      for (const enc of [`${body.enc}=`, ` ${body.enc}`, `${body.enc}\n`]) {
        assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", { ...body, enc })), [400, "malformed"])
      }
      await first.body?.cancel()
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", body)), [409, "replayed"])
    })
  }),
)
