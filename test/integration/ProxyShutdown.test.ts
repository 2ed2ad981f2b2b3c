/** Shutdown of the real process: requests in flight end in order, under their seal. */
import { Agent, request } from "node:http"
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Metric, Scope } from "effect"
import { AnswerIncomplete, SealedProblem } from "../../src/client/errors.ts"
import type { Fetch } from "../../src/client/sealed/SealedClient.ts"
import { deltaText } from "../../src/client/sealed/deltaText.ts"
import type { ChatStream } from "../../src/client/sealed/joins.ts"
import { verifyProof } from "../../src/client/verification/verify.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { runProxy, type RunningProxyProcess } from "../support/processes.ts"
import { scrape, valueOf } from "../support/prometheus.ts"
import { failing, failureOf } from "../support/promises.ts"
import { beginSession, INIT, jsonOf, post, seal } from "../support/sealing.ts"
import { behind, startProxy } from "../support/proxy.ts"
import { openSocket } from "../support/sockets.ts"
import { eventsOf, type SentEvent } from "../support/tamper.ts"

const start = Effect.fnUntraced(function* (env: Readonly<Record<string, string>> = {}) {
  const upstream = yield* FakeUpstream.make()
  const proxy = yield* runProxy({
    env: { PROVIDER1_API_KEY: "key", PROVIDER1_BASE_URL: upstream.openAi, ...env },
  })
  return { proxy, upstream }
})

const ready = async (proxy: RunningProxyProcess) => {
  const response = await fetch(`${proxy.operatorUrl}/ready`)
  const { draining, status } = await jsonOf(response)
  return { http: response.status, status, draining }
}

const untilDraining = async (proxy: RunningProxyProcess) => {
  while ((await ready(proxy)).http === 200) await setTimeout(20)
}

/** Reads parts until their text has `count` words. */
const readWords = async (stream: ChatStream, count: number): Promise<string> => {
  let text = ""
  const parts = stream[Symbol.asyncIterator]()
  while (text.split(" ").length <= count) {
    const { done, value } = await parts.next()
    if (done === true) throw new Error("the stream is too short")
    const content = value.type === "delta" ? value.chunk.choices[0]?.delta.content : undefined
    if (typeof content === "string") text += content
  }
  return text
}

const partsOf = (events: ReadonlyArray<SentEvent>) => {
  const members = events.map(({ data }): object => JSON.parse(data))
  const text = (member: object | undefined, name: string): string => String(Reflect.get(member ?? {}, name))
  return {
    response_nonce: text(members[0], "response_nonce"),
    frames: members.slice(1, -1).map((member) => text(member, "ciphertext")),
    proof: text(members.at(-1), "proof"),
  }
}

/** Begins a session over a kept connection. Resolves with the status, or the code of the error of the connection. */
const initOver = (agent: Agent, proxy: RunningProxyProcess) =>
  new Promise<number | string>((resolve) => {
    const headers = { "content-type": "application/json" }
    request(`${proxy.url}/v1/init`, { agent, method: "POST", headers }, (response) =>
      response.resume().on("end", () => resolve(response.statusCode ?? 0)),
    )
      .on("error", (error) => resolve(String(Reflect.get(error, "code"))))
      .end(JSON.stringify(INIT))
  })

describe("while the proxy shuts down", () => {
  it.live("it closes no connection on which a balancer is just sending a request", () =>
    Effect.gen(function* () {
      const { proxy } = yield* start({ TRUSTED_PROXIES: "127.0.0.1", RATE_LIMIT_INIT: "0", RATE_LIMIT_PROBES: "0" })
      yield* Effect.promise(async () => {
        const agent = new Agent({ keepAlive: true })
        let begun = 0
        const { promise: busy, resolve: isBusy } = Promise.withResolvers<void>()
        // Like a balancer, each goes elsewhere once it was refused.
        const untilRefused = async () => {
          for (;;) {
            const outcome = await initOver(agent, proxy)
            if (outcome !== 200) return outcome
            if (++begun === 40) isBusy()
          }
        }
        const sending = Array.from({ length: 16 }, untilRefused)
        await Promise.race([busy, Promise.all(sending)])
        proxy.kill("SIGTERM")
        assert.deepStrictEqual(new Set(await Promise.all(sending)), new Set([503]))
        assert.strictEqual(await proxy.exit, 0)
      })
    }),
  )

  it.live("a stream in flight finishes, new requests are refused, and the exit code is 0", () =>
    Effect.gen(function* () {
      const { proxy, upstream } = yield* start()
      yield* Effect.promise(async () => {
        const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
        upstream.script({ text: "one two three four", delivery: { gap: 400 } })
        upstream.script(async () => {
          await goOn
          return { text: "answer" }
        })
        const session = await beginSession(proxy)
        const late = await seal(session, { prompt: "late" })
        const client = proxy.client()
        const stream = await client.stream({ prompt: "hello" })
        const first = await readWords(stream, 1)
        const complete = client.complete({ prompt: "hello" })
        await upstream.received(2)

        assert.deepStrictEqual(await ready(proxy), { http: 200, status: "ready", draining: false })
        proxy.kill("SIGTERM")
        await untilDraining(proxy)
        assert.deepStrictEqual(await ready(proxy), { http: 503, status: "unavailable", draining: true })
        for (const [path, body] of [
          ["/v1/init", {}],
          ["/v1/completions", late.body],
        ] as const) {
          const refused = await post(proxy, path, body)
          assert.strictEqual(refused.status, 503)
          assert.match(refused.headers.get("content-type") ?? "", /^application\/problem\+json/)
          assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
          assert.strictEqual((await jsonOf(refused))["code"], "draining")
        }
        assert.strictEqual((await fetch(`${proxy.url}/health`)).status, 200)

        finish()
        assert.strictEqual((await complete).completion.choices[0]?.message.content, "answer")
        assert.strictEqual(first + (await stream.text()).slice(first.length), "one two three four")
        assert.strictEqual(await proxy.exit, 0)
        assert.deepStrictEqual(proxy.stderr, [])
      })
    }),
  )

  it.live("an unfinished stream ends with a sealed end record and a verifiable proof", () =>
    Effect.gen(function* () {
      const { proxy, upstream } = yield* start({ SHUTDOWN_GRACE: "300ms" })
      yield* Effect.promise(async () => {
        upstream.script({ text: "one two three four", delivery: { breaks: { after: 2, how: "silence" } } })
        upstream.script({ text: "never", delivery: { headersAfter: 600_000 } })
        const trust = { pins: [proxy.kid], keys: await jsonOf(await fetch(`${proxy.url}/v1/keys`)) }
        const recorded: Array<Promise<string>> = []
        const record: Fetch = async (url, init) => {
          const response = await fetch(url, init)
          if (url.endsWith("/v1/completions")) recorded.push(response.clone().text())
          return response
        }
        const client = proxy.client({ fetch: record })
        const stream = await client.stream({ prompt: "hello" })
        await readWords(stream, 2)
        const waiting = failureOf(client.complete({ prompt: "hello" }))
        const asked = await upstream.received(2)

        proxy.kill("SIGINT")
        const error = await failureOf(stream.text())
        assert.instanceOf(error, AnswerIncomplete)
        assert.strictEqual(error.status, "aborted")
        assert.strictEqual(error.problem?.code, "draining")
        const words = error.prefix.chunks.map(deltaText).join("")
        assert.strictEqual(words, "one two ")
        assert.strictEqual(error.receipt.status, "aborted")
        assert.isAtMost(error.receipt.count, error.prefix.chunks.length)

        const { frames, proof, response_nonce } = partsOf(eventsOf((await recorded[0]) ?? ""))
        const claims = await verifyProof(proof, trust, { response_nonce, frames })
        assert.strictEqual(claims.count, frames.length)

        // A request without output ends sealed, with a status.
        const refused = await waiting
        assert.instanceOf(refused, SealedProblem)
        assert.isTrue(refused.sealed)
        assert.strictEqual(refused.problem.status, 503)
        assert.strictEqual(refused.problem.code, "draining")
        assert.strictEqual(await asked.ended, "hung-up")
        assert.strictEqual(await proxy.exit, 0)
        assert.deepStrictEqual(proxy.stderr, [])
      })
    }),
  )

  it.live("idle and half-open connections and incomplete requests do not delay it", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const proxy = yield* Scope.provide(startProxy({ settings: { shutdownGrace: Duration.minutes(10) } }), scope)
      const sockets = yield* Effect.forEach(
        ["", "POST /v1/init HTTP/1.1\r\n", "POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"],
        (bytes) => openSocket(proxy.port, bytes),
      )
      yield* Effect.promise(async () => (await fetch(`${proxy.url}/health`)).text())
      yield* Scope.close(scope, Exit.void)
      for (const socket of sockets) yield* Effect.promise(() => socket.ended)
      assert.instanceOf(yield* failing(fetch(`${proxy.url}/health`)), TypeError)
    }),
  )
})

it.live("a caller that hangs up ends the call to the provider", () =>
  Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const proxy = yield* startProxy({ settings: behind(upstream) })
    yield* Effect.promise(async () => {
      upstream.script({ text: "one two three", delivery: { breaks: { after: 1, how: "silence" } } })
      upstream.script({ text: "never", delivery: { headersAfter: 600_000 } })
      const client = proxy.client()

      const reading = new AbortController()
      const stream = await client.stream({ prompt: "hello" }, { signal: reading.signal })
      await readWords(stream, 1)
      reading.abort()
      assert.strictEqual(await (await upstream.received(1)).ended, "hung-up")

      const waiting = new AbortController()
      const complete = failureOf(client.complete({ prompt: "hello" }, { signal: waiting.signal }))
      const asked = await upstream.received(2)
      const inFlight = async () =>
        valueOf(await scrape(proxy), "sealgate_upstream_calls_in_flight", { provider: "provider1" })
      assert.isAbove(await inFlight(), 0)
      waiting.abort()
      assert.strictEqual(await asked.ended, "hung-up")
      assert.strictEqual(Reflect.get(Object(await complete), "name"), "AbortError")

      // Both places are free again, once the proxy has noticed what its provider and its caller know.
      while ((await inFlight()) > 0) await setTimeout(10)
    })
    // Without the counts of other tests in this process.
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
)
