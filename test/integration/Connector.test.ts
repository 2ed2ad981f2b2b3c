/** The connector over real sockets, between plaintext programs and a recorded wire to a proxy and a fake vendor. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import OpenAI, { NotFoundError } from "openai"
import { proveExchange, verifyProof, verifyReceipt } from "../../src/client/index.ts"
import type { ConnectorSettings } from "../../src/layers/Connector.ts"
import { startConnector } from "../support/connector.ts"
import { fault } from "../support/FakeUpstream.ts"
import { plainRequest } from "../support/plainRequest.ts"
import { failing, failureOf } from "../support/promises.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { sealedSetup } from "../support/sealedSetup.ts"
import { changingEvents } from "../support/tamper.ts"

const CANARY = "canary-4711"
const JSON_TYPE = { "content-type": "application/json" }

interface Asked {
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Hangs up after this text. */
  readonly until?: string
}

/** Asks like a program that reads line by line. `broken`: the body broke off. */
const askOver = async ({ url }: { readonly url: string }, { body, headers = JSON_TYPE, until }: Asked) => {
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body })
  let text = ""
  let broken = false
  try {
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString()
      if (until !== undefined && text.includes(until)) break
    }
  } catch {
    broken = true
  }
  const lines = text.split("\n").filter((line) => line !== "")
  return { status: response.status, headers: response.headers, lines, broken }
}

const setup = Effect.fnUntraced(function* (
  changes: Parameters<typeof sealedSetup>[0] = {},
  settings: (sealed: { readonly kid: string }) => Partial<ConnectorSettings> = () => ({}),
) {
  const sealed = yield* sealedSetup(changes)
  const more = settings({ kid: sealed.proxy.kid })
  const connector = yield* startConnector({ ...more, sealed: { ...sealed.options(), ...more.sealed } })
  const ask = (asked: Asked) => Effect.promise(() => askOver(connector, asked))
  return { ...sealed, connector, ask }
})

const chat = (content: string, more: object = {}) =>
  JSON.stringify({ model: "model-1", messages: [{ role: "user", content }], ...more })

/** Sends a request, and leaves the answer to be read. */
const post = ({ url }: { readonly url: string }, body: string) =>
  fetch(`${url}/v1/chat/completions`, { method: "POST", headers: JSON_TYPE, body })

const errorIn = (lines: ReadonlyArray<string>) => {
  const { error } = JSON.parse(lines.join("")) as { readonly error: Readonly<Record<string, unknown>> }
  return error
}

const chunksIn = (lines: ReadonlyArray<string>): ReadonlyArray<OpenAI.ChatCompletionChunk> =>
  lines.filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)))

describe("a program", () => {
  it.live("gets a whole answer, unreadable on the wire behind the connector", () =>
    Effect.gen(function* () {
      const { ask, fake, wire } = yield* setup()
      fake.always({ text: `answer ${CANARY}` })
      const headers = { ...JSON_TYPE, authorization: `Bearer ${CANARY}` }
      const { lines, status } = yield* ask({ body: chat(`question ${CANARY}`), headers })
      assert.strictEqual(status, 200)
      assert.strictEqual(JSON.parse(lines.join("")).choices[0].message.content, `answer ${CANARY}`)
      assert.strictEqual(fake.requests[0]?.asked?.text, `question ${CANARY}`)
      assert.include(wire.seen(), "POST /v1/completions")
      assert.notInclude(wire.seen(), CANARY)
    }),
  )

  it.live("gets a stream that ends with [DONE]", () =>
    Effect.gen(function* () {
      const { ask, fake } = yield* setup()
      fake.always({ text: ["Hel", "lo"] })
      const { broken, headers, lines } = yield* ask({ body: chat("Hi", { stream: true }) })
      assert.strictEqual(headers.get("content-type"), "text/event-stream")
      assert.isFalse(broken)
      assert.strictEqual(lines.at(-1), "data: [DONE]")
      assert.strictEqual(
        chunksIn(lines)
          .map(({ choices }) => choices[0]?.delta.content ?? "")
          .join(""),
        "Hello",
      )
    }),
  )

  it.live("ends the provider's call by hanging up", () =>
    Effect.gen(function* () {
      const { ask, fake } = yield* setup()
      fake.always({ text: ["one ", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
      yield* ask({ body: chat("Hi", { stream: true }), until: "one" })
      const { ended } = yield* Effect.promise(() => fake.received(1))
      assert.strictEqual(yield* Effect.promise(() => ended), "hung-up")
    }),
  )

  it.live("learns why a stream broke, and cannot mistake the part for the whole", () =>
    Effect.gen(function* () {
      const { ask, fake } = yield* setup({ failover: true })
      fake.always({ text: ["half ", "half"], delivery: { breaks: { after: 1, how: "cut" } } })
      const { broken, lines } = yield* ask({ body: chat("Hi", { stream: true }) })
      assert.isTrue(broken)
      assert.notInclude(lines.join(), "[DONE]")
      assert.include(lines.at(-1), '"code":"upstream-interrupted"')
      assert.strictEqual(fake.requests.length, 1)
    }),
  )

  it.live("gets an error after tampering", () =>
    Effect.gen(function* () {
      const cut = changingEvents((events) => events.filter(({ event }) => event !== "proof"))
      const sealed = yield* sealedSetup()
      const connector = yield* startConnector({ sealed: sealed.options({ fetch: cut, release: "verified" }) })
      const body = chat("Hi", { stream: true })
      const { lines, status } = yield* Effect.promise(() => askOver(connector, { body }))
      assert.strictEqual(status, 502)
      assert.strictEqual(errorIn(lines)["code"], "stream-truncated")
    }),
  )

  it.live("gets the statuses that OpenAI would give", () =>
    Effect.gen(function* () {
      const { ask, fake } = yield* setup()
      fake.script(fault.invalidRequest(), fault.rateLimited({ retryAfter: 3 }), fault.serverError())
      for (const [status, type] of [
        [400, "invalid_request_error"],
        [429, "requests"],
        [500, "server_error"],
      ] as const) {
        const answer = yield* ask({ body: chat("Hi") })
        assert.deepStrictEqual([answer.status, errorIn(answer.lines)["type"]], [status, type])
        assert.strictEqual(answer.headers.has("retry-after"), status === 429)
      }
    }),
  )
})

describe("the OpenAI SDK with only a base URL", () => {
  it.live("completes, streams and lists models", () =>
    Effect.gen(function* () {
      const { connector, fake } = yield* setup()
      fake.always({ text: "Hello there" })
      const openai = new OpenAI({ baseURL: `${connector.url}/v1`, apiKey: "unused", maxRetries: 0 })
      const messages = [{ role: "user" as const, content: "Hi" }]
      yield* Effect.promise(async () => {
        const answer = await openai.chat.completions.create({ model: "model-1", messages })
        assert.strictEqual(answer.choices[0]?.message.content, "Hello there")
        const streamed = openai.chat.completions.stream({ model: "model-1", messages })
        assert.strictEqual(await streamed.finalContent(), "Hello there")
        assert.deepStrictEqual(
          (await openai.models.list()).data.map(({ id }) => id),
          ["model-1"],
        )
        const refused = await failureOf(openai.moderations.create({ input: CANARY }))
        assert.instanceOf(refused, NotFoundError)
      })
    }),
  )
})

describe("the connector", () => {
  it.live("reports invalid addresses as the caller's mistake", () =>
    Effect.gen(function* () {
      const { connector } = yield* setup()
      for (const [path, status] of [
        ["//", 404],
        ["http://[/v1/chat/completions", 400],
        ["http:///", 400],
      ] as const) {
        const answer = yield* Effect.promise(() =>
          plainRequest({ port: connector.port, path, headers: JSON_TYPE, body: chat("Hi") }),
        )
        assert.strictEqual(answer.status, status, path)
      }
    }),
  )

  it.live("serves programs that append a path to a base URL with a slash at its end", () =>
    Effect.gen(function* () {
      const { connector } = yield* setup()
      for (const path of ["//chat/completions", "//v1/chat/completions", "//[/v1/chat/completions"]) {
        const answer = yield* Effect.promise(() =>
          plainRequest({ port: connector.port, path, headers: JSON_TYPE, body: chat("Hi") }),
        )
        assert.strictEqual(answer.status, 200, path)
      }
    }),
  )

  it.live("refuses too large bodies, announced or not, and stays up", () =>
    Effect.gen(function* () {
      const { connector } = yield* setup()
      const size = 33 * 1024 * 1024
      const announced = yield* Effect.promise(() =>
        plainRequest({
          port: connector.port,
          path: "/v1/chat/completions",
          headers: { ...JSON_TYPE, "content-length": String(size) },
          body: "{",
        }),
      )
      assert.strictEqual(announced.status, 413)
      const chunked = yield* Effect.promise(() =>
        fetch(`${connector.url}/v1/chat/completions`, {
          method: "POST",
          headers: JSON_TYPE,
          body: new Blob(["x".repeat(size)]).stream(),
          duplex: "half",
        } as RequestInit).then(
          (response) => response.status,
          // The connection may close before the answer is read.
          () => 413,
        ),
      )
      assert.strictEqual(chunked, 413)
      const health = yield* Effect.promise(() => fetch(`${connector.url}/health`))
      assert.strictEqual(health.status, 200)
    }),
  )

  it.live("takes compressed requests, as Codex sends them when signed in with ChatGPT, up to the limit of bodies", () =>
    Effect.gen(function* () {
      const { connector, fake } = yield* setup()
      const send = (coding: string, body: Uint8Array<ArrayBuffer>) =>
        Effect.promise(async () => {
          const headers = { ...JSON_TYPE, "content-encoding": coding }
          const answer = await fetch(`${connector.url}/v1/chat/completions`, { method: "POST", headers, body })
          return { status: answer.status, text: await answer.text() }
        })
      for (const [coding, compressed] of [
        ["zstd", zstdCompressSync(chat("Hi"))],
        ["gzip", gzipSync(chat("Hi"))],
        ["identity", Buffer.from(chat("Hi"))],
      ] as const) {
        const answer = yield* send(coding, compressed)
        assert.strictEqual(answer.status, 200, `${coding} ${answer.text}`)
        assert.strictEqual(fake.requests.at(-1)?.asked?.text, "Hi", coding)
      }
      const called = fake.requests.length
      for (const [coding, body, status, says] of [
        [
          "zstd",
          zstdCompressSync("x".repeat(33 * 1024 * 1024)),
          413,
          "At most 33554432 bytes are accepted, decompressed.",
        ],
        ["gzip", Buffer.from(chat("Hi")), 400, "It is not in the coding that it names, gzip."],
        [
          "lzma",
          Buffer.from(chat("Hi")),
          415,
          "The coding lzma is not supported; use zstd, gzip, deflate, br or none.",
        ],
      ] as const) {
        const refused = yield* send(coding, body)
        assert.strictEqual(refused.status, status, refused.text)
        assert.include(String(errorIn([refused.text])["message"]), says)
      }
      assert.strictEqual(fake.requests.length, called)
    }),
  )

  it.live("answers a retryable 502 if the proxy is gone", () =>
    Effect.gen(function* () {
      const connector = yield* startConnector({ sealed: { baseUrl: "http://127.0.0.1:9", pins: ["A".repeat(43)] } })
      const answer = yield* Effect.promise(() => post(connector, chat("Hi")))
      assert.strictEqual(answer.status, 502)
      assert.strictEqual(answer.headers.get("x-should-retry"), "true")
      assert.include(yield* Effect.promise(() => answer.text()), "could not be reached")
    }),
  )

  it.live("finishes requests in flight before it stops", () =>
    Effect.gen(function* () {
      const sealed = yield* sealedSetup()
      sealed.fake.always({ text: "Hello there", delivery: { firstChunkAfter: 1000 } })
      const scope = yield* Scope.make()
      const connector = yield* Effect.provideService(startConnector({ sealed: sealed.options() }), Scope.Scope, scope)
      const asking = yield* Effect.forkChild(
        Effect.promise(async () => (await post(connector, chat("Hi", { stream: true }))).text()),
      )
      yield* Effect.promise(() => sealed.fake.received(1))
      yield* Scope.close(scope, Exit.void)
      assert.include(yield* Fiber.join(asking), "[DONE]")
      assert.instanceOf(yield* failing(fetch(`${connector.url}/health`)), TypeError)
    }),
  )
})

describe("receipts", () => {
  const keepIn = (folder: string, evidence: boolean) => () => ({ receipts: { folder, evidence } })

  const answersIn = Effect.fnUntraced(function* (evidence: boolean) {
    const folder = join(yield* temporaryFolder, "receipts")
    const { connector, fake, proxy } = yield* setup({}, keepIn(folder, evidence))
    fake.always({ text: `answer ${CANARY}` })
    for (const stream of [false, true]) {
      yield* Effect.promise(async () => (await post(connector, chat(`question ${CANARY}`, { stream }))).text())
    }
    const files = readdirSync(folder).map((name) => join(folder, name))
    const kept = files.map((file) => JSON.parse(readFileSync(file, "utf8")))
    return { folder, files, kept, kid: proxy.kid }
  })

  it.live("are readable by their owner alone, without text of the exchange", () =>
    Effect.gen(function* () {
      const { files, folder, kept, kid } = yield* answersIn(false)
      assert.strictEqual(files.length, 2)
      assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
      for (const file of files) {
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.notInclude(readFileSync(file, "utf8"), CANARY)
      }
      for (const { keys, proof, receipt } of kept) {
        const trust = { pins: [kid], keys: { keys } }
        const claims = yield* Effect.promise(() => verifyReceipt(receipt, trust))
        assert.isTrue(files.some((file) => file.includes(String(claims.jti))))
        assert.strictEqual(claims.form === "stream", proof !== undefined)
        if (proof !== undefined) yield* Effect.promise(() => verifyProof(proof, trust))
      }
    }),
  )

  it.live("prove the exchange together with evidence", () =>
    Effect.gen(function* () {
      const { kept, kid } = yield* answersIn(true)
      for (const file of kept) {
        const proven = yield* Effect.promise(() => proveExchange(file, { pins: [kid], keys: { keys: file.keys } }))
        assert.include(JSON.stringify(proven.request), `question ${CANARY}`)
      }
    }),
  )

  it.live("fail the answer if they cannot be written", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, "receipts")
      const { connector } = yield* setup({}, keepIn(folder, false))
      assert.isTrue(existsSync(folder))
      rmSync(folder, { recursive: true })
      writeFileSync(folder, "")
      const answer = yield* Effect.promise(() => post(connector, chat("Hi")))
      assert.strictEqual(answer.status, 500)
      assert.include(yield* Effect.promise(() => answer.text()), "receipts-unwritable")
    }),
  )
})
