/** The clients in a page of another origin, in a real browser: served if the origin is allowed, refused with a reason if not. */
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { rolldown } from "rolldown"
import { hasBrowser, openPage } from "../support/browser.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT, post } from "../support/sealing.ts"
import { listening } from "../support/listening.ts"

const sourceOf = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))

/** Bundles the clients as an application would: files by path, one of them loaded lazily. */
const bundled = Effect.promise(async () => {
  const bundle = await rolldown({
    input: { sealed: sourceOf("client/index.ts"), gateway: sourceOf("client/gateway.ts") },
    platform: "browser",
    logLevel: "silent",
  })
  const { output } = await bundle.generate({ format: "esm", entryFileNames: "[name].js" })
  await bundle.close()
  const files = new Map<string, string>()
  for (const file of output) if (file.type === "chunk") files.set(`/${file.fileName}`, file.code)
  return files
})

/** Serves an application with only the clients, on another origin. */
const startApp = Effect.gen(function* () {
  const files = yield* bundled
  const server = createServer((request, response) => {
    const script = files.get(request.url ?? "")
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript")
    response.end(
      script ??
        `<script type="module">globalThis.clients = { ...(await import("/sealed.js")), ...(await import("/gateway.js")) }</script>`,
    )
  })
  // The servers are at 127.0.0.1, which is another site.
  return `http://localhost:${yield* listening(server)}`
})

interface Failed {
  readonly name: string
  readonly message: string
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
}

/** Runs code in the application, with the clients and the given values in scope. */
const inPage = async <A>(page: Page, given: object, code: string): Promise<A> => {
  await page.waitForFunction("globalThis.clients !== undefined")
  return page.evaluate<A>(
    `(async ({ ${Object.keys(given).join(", ")} }) => {
      const { GatewayClient, SealedClient } = globalThis.clients
      const failed = (promise) => promise.then(() => undefined, (error) => ({
        name: error.name,
        message: error.message,
        status: error.problem?.status,
        retryAfterMs: error.retryAfterMs,
      }))
      ${code}
    })(${JSON.stringify(given)})`,
  )
}

describe.runIf(hasBrowser)("an application of another origin", () => {
  it.live("seals, streams and reads refusals at a proxy that allows it", () =>
    Effect.gen(function* () {
      const origin = yield* startApp
      const proxy = yield* startProxy({ settings: { allowedOrigins: [origin], rateLimitCompletions: 2 } })
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(origin)
        const given = { baseUrl: proxy.url, pin: proxy.kid }
        const seen = await inPage<{ readonly texts: ReadonlyArray<string>; readonly refused: Failed }>(
          page,
          given,
          `const client = new SealedClient({ baseUrl, pins: [pin] })
          const { completion } = await client.complete({ prompt: "purple elephants" })
          const stream = await client.stream({ prompt: "one two" })
          const texts = [completion.choices[0].message.content, await stream.text()]
          await stream.end
          return { texts, refused: await failed(client.complete({ prompt: "x" })) }`,
        )
        assert.deepStrictEqual(seen.texts, ["purple elephants", "one two"])
        assert.deepInclude(seen.refused, { name: "SealedProblem", status: 429 })
        assert.isAtLeast(seen.refused.retryAfterMs ?? 0, 1000)
      })
    }),
  )

  it.live("uses a gateway that allows it", () =>
    Effect.gen(function* () {
      const origin = yield* startApp
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), {
        ALLOWED_ORIGINS: origin,
        RATE_LIMIT_WRITE: "2",
      })
      const token = yield* tokenFor("alice")
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(origin)
        const seen = await inPage<{ readonly status: string; readonly name: string; readonly refused: Failed }>(
          page,
          { baseUrl: gateway.url, token },
          `const client = new GatewayClient({ baseUrl, token })
          const agent = await client.agents.create({ name: "a" })
          const { name } = await client.agents.update(agent.id, { name: "b" }, { ifVersion: agent.version })
          const { status } = await (await client.agents.execute(agent.id, { task: "x" })).wait()
          return { name, status, refused: await failed(client.agents.remove(agent.id)) }`,
        )
        assert.deepInclude(seen, { name: "b", status: "completed" })
        assert.deepInclude(seen.refused, { name: "GatewayProblem", status: 429 })
        assert.isAtLeast(seen.refused.retryAfterMs ?? 0, 1000)
      })
    }),
  )

  it.live("gets nothing from servers that do not allow it, and an error that names possible causes", () =>
    Effect.gen(function* () {
      const origin = yield* startApp
      const proxy = yield* startProxy({ settings: { allowedOrigins: ["https://app.example.com"], rateLimitInit: 1 } })
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(origin)
        const seen = await inPage<ReadonlyArray<Failed>>(
          page,
          { proxy: proxy.url, pin: proxy.kid, gateway: gateway.url, token: "x" },
          `// Requests without preflight, whose answers the page cannot read.
          for (let i = 0; i < 3; i++) await fetch(proxy + "/v1/init", { method: "POST", mode: "no-cors" })
          return [
            await failed(new SealedClient({ baseUrl: proxy, pins: [pin] }).complete({ prompt: "x" })),
            await failed(new GatewayClient({ baseUrl: gateway, token }).agents.create({ name: "a" })),
          ]`,
        )
        for (const { message, name } of seen) {
          assert.strictEqual(name, "Unreachable")
          assert.include(message, `add ${origin} to ALLOWED_ORIGINS`)
        }
        // Nothing was counted.
        assert.strictEqual((await post(proxy, "/v1/init", INIT)).status, 200)
      })
    }),
  )
})
