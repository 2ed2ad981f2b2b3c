/** Calls of tools, honest and hostile, over sockets. */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { IpNetwork } from "effect/net"
import type { HttpTool } from "../../../src/domain/jobs/tool.ts"
import { inTurns, type Lookup } from "../../../src/services/tools/lookups.ts"
import { ToolNetwork, ToolTenant } from "../../../src/services/tools/ToolNetwork.ts"
import { layerTools, Tools } from "../../../src/services/tools/Tools.ts"
import type { Bearer } from "../../../src/services/tools/withoutSecret.ts"
import { type Behaviour, toolServer } from "../../support/toolServer.ts"

const toolAt = (url: string, members: Partial<HttpTool> = {}): HttpTool => ({
  name: "tool",
  description: "A tool.",
  input_schema: { type: "object" },
  url,
  ...members,
})

const LOOPBACK = "127.0.0.1/32"

const call = (
  tool: HttpTool,
  {
    allowed = [LOOPBACK],
    bearer,
    input = {},
    lookup,
  }: { allowed?: ReadonlyArray<string>; bearer?: Bearer; input?: Record<string, unknown>; lookup?: Lookup } = {},
) =>
  Effect.flatMap(Tools, (tools) => tools.call(tool, input, "job/tool-1-1", bearer)).pipe(
    Effect.provide(
      Layer.provide(
        layerTools,
        ToolNetwork.layer({ allowed: allowed.map((text) => IpNetwork.fromStringUnsafe(text)), lookup }),
      ),
    ),
  )

const answer =
  (status: number, body: string, headers: Record<string, string> = { "content-type": "application/json" }): Behaviour =>
  (_, response) =>
    void response.writeHead(status, headers).end(body)

describe("a tool call", () => {
  it.effect("sends the input as JSON with its idempotency key", () =>
    Effect.gen(function* () {
      const server = yield* toolServer(answer(200, '{"sum":3}'))
      const output = yield* call(toolAt(`${server.url}/add`), { input: { a: 1, b: 2 } })
      assert.deepStrictEqual(output, { text: '{"sum":3}', is_error: false })
      const [request] = server.requests
      assert.deepInclude(request, { method: "POST", url: "/add", body: '{"a":1,"b":2}' })
      assert.deepInclude(request?.headers, { "idempotency-key": "job/tool-1-1", "content-type": "application/json" })
      assert.notProperty(request?.headers, "traceparent")
    }),
  )

  it.effect("sends the input of a GET as query parameters", () =>
    Effect.gen(function* () {
      const server = yield* toolServer(answer(200, "rain"))
      yield* call(toolAt(`${server.url}/weather?unit=c`, { method: "GET" }), {
        input: { city: "Oslo & co", days: [1] },
      })
      assert.strictEqual(server.requests[0]?.url, "/weather?unit=c&city=Oslo+%26+co&days=%5B1%5D")
    }),
  )

  it.effect("gives the model the status and body of a refusal", () =>
    Effect.gen(function* () {
      const server = yield* toolServer(answer(404, "no such city", { "content-type": "text/plain" }))
      assert.deepStrictEqual(yield* call(toolAt(server.url)), { text: "HTTP 404\nno such city", is_error: true })
    }),
  )

  it.effect("reads the answer in the charset that it names, and in UTF-8 if that is unknown", () =>
    Effect.gen(function* () {
      const read = Effect.fnUntraced(function* (body: Buffer, charset: string) {
        const headers = { "content-type": `text/csv;header=present; Charset=${charset}` }
        const server = yield* toolServer((_, response) => void response.writeHead(200, headers).end(body))
        return (yield* call(toolAt(server.url))).text
      })
      assert.strictEqual(yield* read(Buffer.from("Zürich", "latin1"), "ISO-8859-1"), "Zürich")
      assert.strictEqual(yield* read(Buffer.from([0x80, 0x20, 0x35]), '"windows-1252"'), "€ 5")
      assert.strictEqual(yield* read(Buffer.from([0x8a, 0xbf, 0x8e, 0x9a]), "Shift_JIS"), "漢字")
      assert.strictEqual(yield* read(Buffer.from("Zürich"), "unknown"), "Zürich")
    }),
  )

  it.effect("is repeated under the same key if the tool is read-only or idempotent", () =>
    Effect.gen(function* () {
      for (const members of [{ read_only: true }, { idempotent: true }]) {
        const server = yield* toolServer((request, response, index) =>
          answer(index < 2 ? 503 : 200, "done")(request, response, index),
        )
        const calling = yield* Effect.forkChild(call(toolAt(server.url, members)))
        yield* untilSettled(calling)
        assert.deepStrictEqual(yield* Fiber.join(calling), { text: "done", is_error: false })
        assert.deepStrictEqual(
          server.requests.map(({ headers }) => headers["idempotency-key"]),
          Array.from({ length: 3 }, () => "job/tool-1-1"),
        )
      }
    }),
  )

  it.effect("is not repeated otherwise, and says that it may have been carried out", () =>
    Effect.gen(function* () {
      const server = yield* toolServer((_, response) => void response.destroy())
      const output = yield* call(toolAt(server.url))
      assert.isTrue(output.is_error)
      assert.include(output.text, "may have been carried out")
      assert.strictEqual(server.requests.length, 1)
    }),
  )
})

/** Advances the clock while a fiber waits for sockets and pauses. */
const untilSettled = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function* () {
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust("100 millis")
    }
  })

describe("the output of a tool with a secret", () => {
  const secret = "user-token/0123456789"
  const outputOf = (text: string) =>
    Effect.flatMap(toolServer(answer(200, text)), ({ url }) => call(toolAt(url), { bearer: Redacted.make(secret) }))

  it.effect("says nothing about a guess of its beginning", () =>
    Effect.gen(function* () {
      for (const guess of ["user", "user-toke", secret.slice(0, -1)]) {
        assert.strictEqual((yield* outputOf(guess)).text, guess)
      }
      assert.strictEqual((yield* outputOf(`${secret}!`)).text, "[secret]!")
    }),
  )

  it.effect("has no part of the secret where it was cut, and the same text for a wrong guess", () =>
    Effect.gen(function* () {
      const wrong = "x".repeat(secret.length)
      const escaped = encodeURIComponent(secret)
      for (const form of [secret, escaped, Buffer.from(secret).toString("base64")]) {
        for (let length = 1; length < form.length; length += 5) {
          const cutAfter = (text: string) => outputOf(`${"x".repeat(65_536 - length)}${text}`)
          const { text } = yield* cutAfter(form)
          assert.match(text, /^x+\n\(cut: /)
          assert.deepStrictEqual(text, (yield* cutAfter(wrong.padEnd(form.length, "x"))).text)
        }
      }
    }),
  )
})

describe("a hostile tool", () => {
  it.effect("cannot send more than 64 KiB: the rest of 100 MB is not read", () =>
    Effect.gen(function* () {
      const piece = Buffer.alloc(1024 * 1024, "x")
      let sent = 0
      const server = yield* toolServer((_, response) => {
        const more = () => {
          if (sent === 100 || response.destroyed) return
          sent++
          response.write(piece, (error) => (error == null ? more() : undefined))
        }
        response.writeHead(200, { "content-type": "text/plain" })
        more()
      })
      const output = yield* call(toolAt(server.url))
      yield* Effect.promise(() => server.hungUp)
      assert.isBelow(output.text.length, 64 * 1024 + 100)
      assert.match(output.text, /\n\(cut: the output is longer than 65536 bytes\)$/)
      assert.isBelow(sent, 100)
    }),
  )

  it.effect("cannot hold a job with an endless stream or with silence", () =>
    Effect.gen(function* () {
      const drip: Behaviour = (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write(".")
      for (const behave of [drip, () => undefined]) {
        const server = yield* toolServer(behave)
        const calling = yield* Effect.forkChild(call(toolAt(server.url, { timeout_seconds: 7 })))
        yield* Effect.promise(() => server.called)
        yield* TestClock.adjust("7 seconds")
        const output = yield* Fiber.join(calling)
        assert.include(output.text, "no whole answer within 7 s")
        yield* Effect.promise(() => server.hungUp)
      }
    }),
  )

  it.effect("cannot redirect to another address", () =>
    Effect.gen(function* () {
      const secret = yield* toolServer(answer(200, "secret"))
      const server = yield* toolServer(answer(302, "", { location: secret.url }))
      const output = yield* call(toolAt(server.url))
      assert.deepStrictEqual(output, {
        text: "The tool answered with a redirect (HTTP 302), which is not followed.",
        is_error: true,
      })
      assert.deepStrictEqual(secret.requests, [])
    }),
  )

  it.effect("cannot send compressed or binary bodies", () =>
    Effect.gen(function* () {
      const gzip = yield* toolServer(answer(200, "x", { "content-type": "text/plain", "content-encoding": "gzip" }))
      assert.include((yield* call(toolAt(gzip.url))).text, "encoded body")
      const image = yield* toolServer(answer(200, "x", { "content-type": "image/png" }))
      assert.include((yield* call(toolAt(image.url))).text, "not text")
    }),
  )
})

describe("an address that the operator has not allowed", () => {
  it.effect("is not connected to, however the URL writes it", () =>
    Effect.gen(function* () {
      const server = yield* toolServer(answer(200, "secret"))
      for (const host of ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0"]) {
        const output = yield* call(toolAt(`http://${host}:${server.port}/`, { read_only: true }), { allowed: [] })
        assert.match(output.text, /^The tool was not called: its address is in a private network/, host)
      }
      assert.deepStrictEqual(server.requests, [])
    }),
  )

  it.effect("is refused when a name resolves to it later, because the connection is made to the checked address", () =>
    Effect.gen(function* () {
      const secret = yield* toolServer(answer(200, "secret"))
      const server = yield* toolServer(
        (_, response) => void response.setHeader("connection", "close").end("public"),
        "127.0.0.2",
      )
      const answers = ["127.0.0.2", "127.0.0.1"]
      const lookup: Lookup = (_, done) => done(null, [{ address: answers.shift() ?? "127.0.0.1", family: 4 }])
      const tool = toolAt(`http://rebind.example:${server.port}/`)
      const texts = yield* Effect.forEach([tool, toolAt(`http://rebind.example:${secret.port}/`)], (each) =>
        Effect.map(call(each, { allowed: ["127.0.0.2/32"], lookup }), ({ text }) => text),
      )
      assert.strictEqual(texts[0], "public")
      assert.match(texts[1] ?? "", /^The tool was not called/)
      assert.deepStrictEqual(secret.requests, [])
    }),
  )

  it.effect("is refused if one of several addresses of a name is private, and http if all are public", () =>
    Effect.gen(function* () {
      const mixed: Lookup = (_, done) =>
        done(null, [
          { address: "93.184.215.14", family: 4 },
          { address: "10.0.0.1", family: 4 },
        ])
      const open: Lookup = (_, done) => done(null, [{ address: "93.184.215.14", family: 4 }])
      assert.match((yield* call(toolAt("https://mixed.example/"), { lookup: mixed })).text, /^The tool was not called/)
      assert.match((yield* call(toolAt("http://open.example/"), { lookup: open })).text, /^The tool was not called/)
    }),
  )
})

describe("the lookups of names that tenants choose", () => {
  it.effect("are made one at a time, so that silent name servers leave the other lookup to calls of models", () =>
    Effect.gen(function* () {
      const server = yield* toolServer(answer(200, "ok"))
      let [underWay, most] = [0, 0]
      const lookup: Lookup = (_, done) => {
        most = Math.max(most, ++underWay)
        setTimeout(() => {
          underWay--
          done(null, [{ address: "127.0.0.1", family: 4 }])
        }, 20)
      }
      const network = ToolNetwork.layer({ allowed: [IpNetwork.fromStringUnsafe(LOOPBACK)], lookup })
      const callOf = (name: string) =>
        Tools.use((tools) => tools.call(toolAt(`http://${name}.example:${server.port}/`), {}, name))
      const outputs = yield* Effect.forEach(["a", "b", "c"], callOf, { concurrency: "unbounded" }).pipe(
        Effect.provide(Layer.provide(layerTools, network)),
      )
      assert.deepStrictEqual(
        outputs.map(({ text }) => text),
        ["ok", "ok", "ok"],
      )
      assert.strictEqual(most, 1)
    }),
  )

  /** Lookups that end when a test says so, in the order in which they began. */
  const manual = () => {
    const begun: Array<string> = []
    const ends: Array<() => void> = []
    const lookup: Lookup = (name, done) => {
      begun.push(name)
      ends.push(() => done(null, [{ address: "127.0.0.1", family: 4 }]))
    }
    return { begun, ends, lookup }
  }

  it("are dropped if their connections time out before their turn", () => {
    const { begun, ends, lookup } = manual()
    const ask = inTurns(lookup, 0)
    for (const name of ["silent", "late", "later"]) ask("a", name, () => undefined)
    ends[0]?.()
    ask("a", "next", () => undefined)
    assert.deepStrictEqual(begun, ["silent", "next"])
  })

  it("take turns between tenants, so that many silent names of one tenant delay another by the time of one", () => {
    const { begun, ends, lookup } = manual()
    const ask = inTurns(lookup, Infinity)
    for (let i = 1; i <= 12; i++) ask("a", `a${i}`, () => undefined)
    ask("b", "b1", () => undefined)
    ask("c", "c1", () => undefined)
    ask("b", "b2", () => undefined)
    for (let i = 0; i < 5; i++) ends[i]?.()
    assert.deepStrictEqual(begun, ["a1", "b1", "c1", "a2", "b2", "a3"])
  })

  it("come first of the tenant whose lookups took the least time, so that one silent name delays all of another's once", () => {
    const { begun, ends, lookup } = manual()
    const clock = vi.spyOn(performance, "now").mockReturnValue(0)
    try {
      const ask = inTurns(lookup, 15_000)
      for (const name of ["a1", "a2", "a3"]) ask("a", name, () => undefined)
      for (const name of ["b1", "b2", "b3"]) ask("b", name, () => undefined)
      clock.mockReturnValue(9_000)
      for (let i = 0; i < 4; i++) ends[i]?.()
    } finally {
      clock.mockRestore()
    }
    assert.deepStrictEqual(begun, ["a1", "b1", "b2", "b3", "a2"])
  })

  it("answer all that wait for the same name", () => {
    const { begun, ends, lookup } = manual()
    const ask = inTurns(lookup, Infinity)
    const answered: Array<string> = []
    const asked = (tenant: string, name: string) => ask(tenant, name, () => answered.push(`${tenant} ${name}`))
    asked("a", "shared")
    asked("a", "other")
    asked("b", "shared")
    asked("a", "shared")
    ends[0]?.()
    assert.deepStrictEqual(answered, ["a shared", "b shared", "a shared"])
    assert.deepStrictEqual(begun, ["shared", "other"])
  })

  it.effect("of a tenant wait for at most one lookup of another tenant's tools", () =>
    Effect.gen(function* () {
      const server = yield* toolServer(answer(200, "ok"))
      const { begun, ends, lookup } = manual()
      // Undici publishes an attempt to connect in the turn of the event loop in which it asks for the address.
      let connecting = 0
      const all = Promise.withResolvers<void>()
      const count = () => {
        if (++connecting === 13) all.resolve()
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => subscribe("undici:client:beforeConnect", count)),
        () => Effect.sync(() => unsubscribe("undici:client:beforeConnect", count)),
      )
      const callOf = (tenant: string, name: string) =>
        Tools.use((tools) => tools.call(toolAt(`http://${name}.example:${server.port}/`), {}, name)).pipe(
          Effect.provideService(ToolTenant, tenant),
        )
      const output = yield* Effect.gen(function* () {
        for (let i = 1; i <= 12; i++) yield* Effect.forkScoped(callOf("a", `a${i}`), { startImmediately: true })
        yield* Effect.repeat(Effect.yieldNow, { until: () => connecting === 12 })
        const b = yield* Effect.forkScoped(callOf("b", "b1"), { startImmediately: true })
        yield* Effect.promise(() => all.promise)
        ends[0]?.()
        ends[1]?.()
        return yield* Fiber.join(b)
      }).pipe(
        Effect.provide(
          Layer.provide(layerTools, ToolNetwork.layer({ allowed: [IpNetwork.fromStringUnsafe(LOOPBACK)], lookup })),
        ),
      )
      assert.deepStrictEqual(output, { text: "ok", is_error: false })
      assert.strictEqual(begun[1], "b1.example")
    }),
  )
})
