/** Providers behind a network proxy (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), through a real tunnel. */
import { createServer } from "node:http"
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { ProviderHttp } from "../../src/services/upstream/ProviderHttp.ts"
import { makeHttpProvider } from "../../src/services/upstream/providers/http/HttpProvider.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { freePort } from "../support/freePort.ts"
import { behind, startProxy } from "../support/proxy.ts"
import { VENDORS } from "../services/upstream/providers/support/Canned.ts"
import { listening } from "../support/listening.ts"

/** A name that only the network proxy resolves. */
const INSIDE = "provider.inside.test"

/** A CONNECT proxy that leads every tunnel to this machine, and records the requested hosts. */
const tunnels = Effect.gen(function* () {
  const asked: Array<{ readonly target: string; readonly authorization: string | undefined }> = []
  const server = createServer((_request, response) => response.writeHead(405).end())
  server.on("connect", (request, socket, head) => {
    const target = request.url ?? ""
    asked.push({ target, authorization: request.headers["proxy-authorization"] })
    const through = connect(Number(target.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
      through.write(head)
      through.pipe(socket).pipe(through)
    })
    for (const end of [through, socket]) {
      end.on("error", () => {
        through.destroy()
        socket.destroy()
      })
    }
  })
  return { asked, url: `http://someone:secret@127.0.0.1:${yield* listening(server)}` }
})

const fakeUpstream = Effect.acquireRelease(
  Effect.promise(() => FakeUpstream.start()),
  (upstream) => Effect.promise(() => upstream[Symbol.asyncDispose]()),
)

/** The provider's address through the network proxy. */
const insideOf = (url: string): URL => new URL(url.replace(/\/\/[^:/]+/, `//${INSIDE}`))

describe("a network proxy", () => {
  it.live("carries calls to providers, streamed or not, except to hosts in NO_PROXY", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* tunnels
      const fake = yield* fakeUpstream
      fake.always({ text: ["Hel", "lo"] })
      const settings = { ...behind(fake), provider1BaseUrl: insideOf(fake.openAi), httpProxy: Redacted.make(url) }
      const client = (yield* startProxy({ settings })).client()
      yield* Effect.promise(async () => {
        const { completion } = await client.complete({ prompt: "Hi" })
        assert.strictEqual(completion.choices[0]?.message.content, "Hello")
        assert.strictEqual(await (await client.stream({ prompt: "Hi" })).text(), "Hello")
      })
      const { host } = insideOf(fake.openAi)
      assert.isAtLeast(asked.length, 1)
      for (const each of asked) {
        assert.deepStrictEqual(each, { target: host, authorization: `Basic ${btoa("someone:secret")}` })
      }

      const before = asked.length
      const around = (yield* startProxy({ settings: { ...settings, noProxy: ".inside.test" } })).client()
      const { code } = yield* Effect.promise(() => around.complete({ prompt: "Hi" }).catch((error) => error.problem))
      assert.strictEqual(code, "upstream-unavailable")
      assert.strictEqual(asked.length, before)
    }),
  )

  it.live("is never used for this machine", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* tunnels
      const fake = yield* fakeUpstream
      fake.always({ text: "Hello" })
      const proxies = { httpProxy: Redacted.make(url), httpsProxy: Redacted.make(url) }
      for (const host of ["127.0.0.1", "127.0.0.2"]) {
        const provider1BaseUrl = new URL(fake.openAi.replace("127.0.0.1", host))
        const proxy = yield* startProxy({ settings: { ...behind(fake), ...proxies, provider1BaseUrl } })
        // The fake listens only on the first address.
        yield* Effect.promise(() =>
          proxy
            .client()
            .complete({ prompt: "Hi" })
            .catch(() => undefined),
        )
      }
      assert.isNotEmpty(fake.requests)
      assert.deepStrictEqual(asked, [])
    }),
  )

  it.live("carries no https:// calls if it is set for http:// alone", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* tunnels
      const fake = yield* fakeUpstream
      const provider1BaseUrl = new URL(`https://${INSIDE}/v1`)
      const settings = { ...behind(fake), provider1BaseUrl, httpProxy: Redacted.make(url) }
      const proxy = yield* startProxy({ settings })
      const { code } = yield* Effect.promise(() =>
        proxy
          .client()
          .complete({ prompt: "Hi" })
          .catch((error) => error.problem),
      )
      assert.strictEqual(code, "upstream-unavailable")
      assert.deepStrictEqual(asked, [])
    }),
  )

  it.live("carries calls to sealed proxies that are providers", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* tunnels
      const inner = yield* startProxy({ settings: { allowedHosts: [INSIDE] } })
      const settings = {
        provider1BaseUrl: insideOf(inner.url),
        provider1SealedPin: [inner.kid],
        httpProxy: Redacted.make(url),
      }
      const outer = yield* startProxy({ settings })
      const { completion } = yield* Effect.promise(() => outer.client().complete({ prompt: "Hi" }))
      assert.strictEqual(completion.choices[0]?.message.content, "Hi")
      assert.isAtLeast(asked.length, 1)
      assert.strictEqual(asked[0]?.target, insideOf(inner.url).host)
    }),
  )

  it.live("is named as the cause of its own failures, instead of the provider", () =>
    Effect.gen(function* () {
      const refusing = createServer().on("connect", (_request, socket) => {
        socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
      })
      const port = yield* Effect.acquireRelease(Effect.promise(freePort), () =>
        Effect.promise(() => new Promise((resolve) => refusing.close(resolve))),
      )
      yield* Effect.promise(() => new Promise<void>((resolve) => refusing.listen(port, "127.0.0.1", resolve)))
      const dead = yield* Effect.promise(freePort)
      for (const [network, says] of [
        [`127.0.0.1:${dead}`, "nothing listens there"],
        ["nowhere.invalid:3128", "there is no host with that name"],
        [`127.0.0.1:${port}`, "it refused the tunnel"],
      ] as const) {
        const url = Redacted.make(`http://${network}`)
        const { baseUrl, format, id, model } = VENDORS.openai
        const failure = yield* makeHttpProvider(format, {
          id,
          apiKey: Redacted.make("k"),
          baseUrl,
          defaultModel: model,
        }).pipe(
          Effect.flatMap(({ complete }) => Effect.flip(complete({ messages: [{ role: "user", content: "Hi" }] }))),
          Effect.provide(
            ProviderHttp.layer({
              connect: Duration.seconds(5),
              proxies: { http: url, https: url, except: undefined },
              traceHeaders: false,
            }),
          ),
        )
        assert.include(failure.reason, `at the network's proxy (HTTPS_PROXY, HTTP_PROXY): ${says}`)
        assert.isUndefined(failure.lasting)
      }
    }),
  )
})
