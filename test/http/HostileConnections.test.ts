/** The server closes connections that clients keep open against the rules. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Stream } from "effect"
import { layerEchoWith } from "../support/echo.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { behind, startProxy } from "../support/proxy.ts"
import { beginSession, seal } from "../support/sealing.ts"
import { openSocket, postOf } from "../support/sockets.ts"
import { streaming } from "../support/streamed.ts"

/** The end of a connection, proper or by an error. */
const closing = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()))

/** A client that ignores the end of the response and goes on sending `more`. */
const stubborn = Effect.fnUntraced(function* (port: number, head: string, more: string) {
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => connect({ port, host: "127.0.0.1", allowHalfOpen: true })),
    (socket) => Effect.sync(() => socket.destroy()),
  )
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
  })
  socket.on("error", () => undefined)
  const closed = closing(socket)
  yield* Effect.promise(() => once(socket, "connect"))
  socket.write(head)
  yield* Effect.promise(async () => {
    // Ends when the server closes the connection.
    while (!socket.closed) {
      if (socket.writable) socket.write(more)
      await Promise.race([closed, setTimeout(50)])
    }
  })
  return text
})

it.live("a refused sender that goes on sending is cut off", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({
      settings: { headersTimeout: Duration.millis(500), requestTimeout: Duration.millis(1000) },
    })
    const head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    const cases = [
      ["GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow:", " ", 408],
      [`${head}content-length: 1000000\r\n\r\n{`, " ", 408],
      [`${head}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`, "1\r\n \r\n", 411],
      ["nonsense\r\n\r\n", "more", 400],
    ] as const
    const texts = yield* Effect.forEach(cases, ([head, more]) => stubborn(proxy.port, head, more), {
      concurrency: "unbounded",
    })
    for (const [index, [, , status]] of cases.entries())
      assert.match(texts[index] ?? "", new RegExp(`^HTTP/1.1 ${status} `))
  }),
)

const chunk = {
  id: "1",
  object: "chat.completion.chunk" as const,
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { content: "x".repeat(16_384) }, finish_reason: null }],
}

it.live("a reader that is too slow on average is cut off, a fast one is not", () =>
  Effect.gen(function* () {
    const started: Array<Deferred.Deferred<void>> = []
    const endless = Stream.unwrap(
      Effect.map(Deferred.make<void>(), (released) => {
        started.push(released)
        return Stream.forever(Stream.sync(() => ({ _tag: "Delta" as const, provider: "echo" as const, chunk }))).pipe(
          Stream.rechunk(1),
          Stream.ensuring(Deferred.succeed(released, undefined)),
        )
      }),
    )
    const upstream = layerEchoWith(() => ({ requestStreamTo: streaming(() => endless) }))
    const read = Effect.fnUntraced(function* (writeMinRate: number, pauseMs: number) {
      const proxy = yield* startProxy({ upstream, settings: { writeTimeout: Duration.seconds(1), writeMinRate } })
      const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x", stream: true }))
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => connect(proxy.port, "127.0.0.1")),
        (socket) => Effect.sync(() => socket.destroy()),
      )
      socket.on("error", () => undefined)
      socket.write(postOf("/v1/completions", body))
      let taken = 0
      socket.on("data", (bytes: Buffer) => {
        taken += bytes.length
        socket.pause()
        globalThis.setTimeout(() => socket.resume(), pauseMs)
      })
      return { socket, closed: closing(socket), taken: () => taken }
    })
    // At most 64 KiB at a time, some 3 MB/s: enough for the system to accept part of every write within a second.
    const slow = yield* read(50_000_000, 20)
    yield* Effect.promise(() => slow.closed)
    yield* Deferred.await(started[0] ?? (yield* Effect.die("no stream began")))
    assert.isAbove(slow.taken(), 1_000_000)
    // The same reader, where its speed is sufficient.
    const fast = yield* read(100_000, 20)
    yield* Effect.sleep("4 seconds")
    assert.isFalse(fast.socket.closed)
    assert.isAbove(fast.taken(), 1_000_000)
  }),
)

it.live("a request with Expect: 100-continue may wait for its provider like any other", () =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    fake.script({ text: "late", delivery: { headersAfter: 1_500 } })
    const proxy = yield* startProxy({ settings: { ...behind(fake), writeTimeout: Duration.millis(200) } })
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x" }))
    const [head = "", json = ""] = postOf("/v1/completions", body, {
      expect: "100-continue",
      connection: "close",
    }).split("\r\n\r\n")
    const connection = yield* openSocket(proxy.port, `${head}\r\n\r\n`)
    yield* Effect.promise(() => connection.receives(/^HTTP\/1\.1 100 Continue\r\n/))
    connection.write(json)
    assert.match(yield* Effect.promise(() => connection.ended), /HTTP\/1\.1 200 OK\r\n/)
  }),
)

it.live("a request to upgrade is served without the upgrade, and its connection stays open", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x", stream: true }))
    for (const protocol of ["websocket", "h2c", "x"]) {
      const upgrade = { connection: "Upgrade", upgrade: protocol, "sec-websocket-version": "13" }
      const lines = Object.entries({ host: "localhost", ...upgrade }).map(([name, value]) => `${name}: ${value}\r\n`)
      const connection = yield* openSocket(proxy.port, `GET /health HTTP/1.1\r\n${lines.join("")}\r\n`)
      yield* Effect.promise(() => connection.receives(/^HTTP\/1\.1 200 OK\r\n[^]*"status":"ok"/))
      connection.write("GET /nope HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
      assert.match(yield* Effect.promise(() => connection.ended), /HTTP\/1\.1 404 Not Found\r\n/)
    }
    const upgrade = { connection: "Upgrade", upgrade: "x" }
    const stream = yield* openSocket(proxy.port, postOf("/v1/completions", body, upgrade))
    yield* Effect.promise(() => stream.receives(/event: proof\n[^]*\r\n0\r\n\r\n$/))
  }),
)

it.live("bytes that are not HTTP do not corrupt the response in progress", () =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    fake.script({ text: "one two three", delivery: { breaks: { after: 1, how: "silence" } } })
    const proxy = yield* startProxy({ settings: behind(fake) })
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x", stream: true }))
    const connection = yield* openSocket(proxy.port, postOf("/v1/completions", body))
    yield* Effect.promise(() => connection.receives(/event: frame/))
    connection.write("nonsense\r\n\r\n")
    assert.notInclude(yield* Effect.promise(() => connection.ended), "HTTP/1.1 400")
    assert.strictEqual(yield* Effect.promise(async () => (await fake.received(1)).ended), "hung-up")
  }),
)

it.live("bodies being received share limited memory, and the client that holds most loses its own", () =>
  Effect.gen(function* () {
    const budget = 64 * 1024
    const proxy = yield* startProxy({ settings: { maxRequestBytes: budget, maxBodyMemory: budget } })
    const session = yield* Effect.promise(() => beginSession(proxy))
    const head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    const part = (framing: string, bytes: number, from: string) =>
      openSocket(proxy.port, `${head}${framing}\r\n${" ".repeat(bytes)}`, from)
    const announced = "content-length: 60000\r\n"
    const modest = yield* part(announced, 15_000, "127.0.0.3")
    const [first, second] = [yield* part(announced, 16_000, "127.0.0.2"), yield* part(announced, 16_000, "127.0.0.2")]
    const held = () => [first, second, modest].map(({ socket }) => !socket.readableEnded)
    assert.deepStrictEqual(held(), [true, true, true])
    const upload = Effect.fnUntraced(function* (characters: number) {
      const { body } = yield* Effect.promise(() => seal(session, { prompt: "x".repeat(characters) }))
      const honest = yield* openSocket(proxy.port, postOf("/v1/completions", body, { connection: "close" }))
      assert.match(yield* Effect.promise(() => honest.ended), /^HTTP\/1\.1 200 /)
    })
    // It exceeds the limit once the others have arrived.
    yield* Effect.repeat(upload(15_000), { until: () => first.socket.readableEnded })
    const refused = yield* Effect.promise(() => first.ended)
    assert.match(refused, /^HTTP\/1\.1 408 [^]*connection: close\r\n[^]*urn:sealgate:problem:timeout/i)
    assert.deepStrictEqual(held(), [false, true, true])
    // The memory of ended requests is free again.
    for (let i = 0; i < 5; i++) yield* upload(15_000)
    assert.deepStrictEqual(held(), [false, true, true])
  }),
)
