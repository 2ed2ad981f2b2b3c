/** Static files: the OpenAPI document and the pages. */
import { gunzipSync } from "node:zlib"
import { request } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { acceptsGzip } from "../../src/http/shared/Assets.ts"
import { startProxy } from "../support/proxy.ts"

/** A response as it was sent; `fetch` would decompress it. */
const rawGet = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.callback<{ readonly status: number; readonly headers: Record<string, unknown>; readonly body: Buffer }>(
    (resume) => {
      const sent = request(url, { headers }, (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () =>
          resume(
            Effect.succeed({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks),
            }),
          ),
        )
      })
      sent.on("error", (error) => resume(Effect.die(error)))
      sent.end()
    },
  )

const PATHS = [
  "/openapi.json",
  "/console",
  "/console/main.js",
  "/console/style.css",
  "/console/icon.svg",
  "/docs",
  "/docs/main.js",
]

describe("assets", () => {
  it.live("are compressed for clients that accept gzip, plain otherwise, and answered with 304 if unchanged", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      for (const path of PATHS) {
        const plain = yield* rawGet(proxy.url + path)
        assert.strictEqual(plain.status, 200, path)
        assert.isUndefined(plain.headers["content-encoding"], path)
        const small = yield* rawGet(proxy.url + path, { "accept-encoding": "br, gzip;q=0.5" })
        assert.strictEqual(small.headers["content-encoding"], "gzip", path)
        assert.isBelow(small.body.length, plain.body.length, path)
        assert.deepStrictEqual(gunzipSync(small.body), plain.body, path)
        for (const { headers } of [plain, small]) {
          assert.strictEqual(headers["vary"], "accept-encoding", path)
          assert.strictEqual(headers["content-type"], plain.headers["content-type"], path)
          assert.strictEqual(headers["etag"], plain.headers["etag"], path)
        }
        const known = { "if-none-match": `"other", ${String(plain.headers["etag"])}` }
        const unchanged = yield* rawGet(proxy.url + path, known)
        assert.deepStrictEqual([unchanged.status, unchanged.body.length], [304, 0], path)
        assert.strictEqual((yield* rawGet(proxy.url + path, { "if-none-match": '"other"' })).status, 200, path)
      }
    }),
  )

  it.live("each have a restrictive content security policy", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      for (const path of PATHS) {
        const { headers } = yield* rawGet(proxy.url + path)
        const policy = String(headers["content-security-policy"])
        assert.match(policy, /^default-src 'none'; script-src 'self'; connect-src 'self';/, path)
        if (!path.startsWith("/docs"))
          assert.match(policy, /style-src 'self'; .*; require-trusted-types-for 'script'/, path)
        assert.strictEqual(headers["x-content-type-options"], "nosniff", path)
      }
    }),
  )

  it("are sent with gzip only if Accept-Encoding allows it", () => {
    for (const yes of ["gzip", "GZIP", "br, gzip", "gzip;q=0.001", "*", "br;q=1, *;q=0.1", "identity, gzip ; q=1"]) {
      assert.isTrue(acceptsGzip(yes), yes)
    }
    for (const no of [undefined, "", "br", "identity", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "gzip;q=x", "xgzip"]) {
      assert.isFalse(acceptsGzip(no), no)
    }
  })
})
