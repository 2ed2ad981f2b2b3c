/** Limits of connections, met exactly and exceeded by one. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type ServerOptions } from "node:http"
import { connect, type Socket } from "node:net"
import { Duplex } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { IpNetwork } from "effect/net"
import { type ConnectionLimits, limitConnections } from "../../../src/server/connections/ConnectionLimits.ts"
import { takeTurns } from "../../../src/server/connections/Turns.ts"
import { UnreadBody } from "../../../src/server/connections/UnreadBody.ts"
import { NO_LIMITS } from "../../support/connectionLimits.ts"
import { openSocket } from "../../support/sockets.ts"
import { withinTurns } from "../../support/withinTurns.ts"
import { listening } from "../../support/listening.ts"

/** A server with nothing but these limits, on every address of this machine. */
const serve = Effect.fnUntraced(function* (
  limits: Partial<ConnectionLimits>,
  listener: RequestListener,
  options: ServerOptions = {},
) {
  // Nothing but the limits under test closes a connection.
  const server = createServer({ keepAliveTimeout: 120_000, ...options }, listener)
  limitConnections(server, { ...NO_LIMITS, ...limits })
  const sockets: Array<Socket> = []
  server.on("connection", (socket) => sockets.push(socket))
  return {
    server,
    port: yield* listening(server, "::"),
    /** The server's end of the connection from `client`. */
    endOf: (client: Socket) => sockets.find(({ remotePort }) => remotePort === client.localPort),
  }
})

/** A connection from an address of this machine. */
const connectFrom = (port: number, localAddress: string, bytes = "") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const host = localAddress.includes(":") ? "::1" : "127.0.0.1"
      const socket = connect({ port, host, localAddress })
      socket.on("error", () => undefined)
      await once(socket, "connect")
      socket.write(bytes)
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy()),
  )

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`

/** Whether a connection is answered; one that is refused is closed instead. */
const isAnswered = (socket: Socket) =>
  Effect.promise(
    () =>
      new Promise<boolean>((resolve) => {
        if (socket.closed) resolve(false)
        socket.once("data", () => resolve(true))
        socket.once("close", () => resolve(false))
      }),
  )

const ok: RequestListener = (_, response) => void response.end("ok")

describe("connections", () => {
  it.live("of one client are limited in number", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ maxConnectionsPerClient: 2 }, ok)
      const ask = (address: string) => Effect.flatMap(connectFrom(port, address, get("/")), isAnswered)
      assert.isTrue(yield* ask("127.0.0.2"))
      assert.isTrue(yield* ask("127.0.0.2"))
      assert.isFalse(yield* ask("127.0.0.2"))
      // Another client has a separate limit.
      assert.isTrue(yield* ask("127.0.0.3"))
      assert.isTrue(yield* ask("127.0.0.3"))
      assert.isFalse(yield* ask("127.0.0.3"))
    }),
  )

  it.live("from one IPv6 network of 64 bits count for one client", () =>
    Effect.gen(function* () {
      const { server } = yield* serve({ maxConnectionsPerClient: 1 }, ok)
      const connectionFrom = (remoteAddress: string) => {
        const connection = Object.assign(new Duplex({ read: () => undefined }), { remoteAddress })
        server.emit("connection", connection)
        return connection
      }
      const first = connectionFrom("2001:db8::1")
      assert.isTrue(connectionFrom("2001:db8::ffff:2").destroyed)
      assert.isFalse(connectionFrom("2001:db8:0:1::1").destroyed)
      first.destroy()
      yield* Effect.promise(() => once(first, "close"))
      assert.isFalse(connectionFrom("2001:db8::3").destroyed)
    }),
  )

  it.live("do not count once they were refused or have ended", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ maxConnectionsPerClient: 1 }, ok)
      const first = yield* connectFrom(port, "127.0.0.2", get("/"))
      assert.isTrue(yield* isAnswered(first))
      for (let i = 0; i < 3; i++) {
        assert.isFalse(yield* Effect.flatMap(connectFrom(port, "127.0.0.2", get("/")), isAnswered))
      }
      first.destroy()
      const again = Effect.flatMap(connectFrom(port, "127.0.0.2", get("/")), isAnswered)
      yield* Effect.repeat(again, { until: (answered) => answered })
    }),
  )

  it.live("make room for exactly one more when they end", () =>
    Effect.gen(function* () {
      const { endOf, port } = yield* serve({ maxConnectionsPerClient: 3 }, ok)
      const open = connectFrom(port, "127.0.0.2", get("/"))
      const all = yield* Effect.forEach(Array.from({ length: 3 }), () => Effect.tap(open, isAnswered))
      for (const index of [0, 2]) {
        const gone = all[index]
        assert(gone !== undefined)
        const goneHere = endOf(gone)
        assert(goneHere !== undefined)
        gone.destroy()
        while (!goneHere.closed) yield* Effect.sleep("1 millis")
        assert.isTrue(yield* Effect.flatMap(open, isAnswered))
        assert.isFalse(yield* Effect.flatMap(open, isAnswered))
      }
    }),
  )

  it.live("of a trusted proxy are not counted", () =>
    Effect.gen(function* () {
      const { port } = yield* serve(
        { maxConnectionsPerClient: 1, trustedProxies: [IpNetwork.fromStringUnsafe("127.0.0.2/32")] },
        ok,
      )
      const ask = (address: string) => Effect.flatMap(connectFrom(port, address, get("/")), isAnswered)
      assert.deepStrictEqual(yield* Effect.forEach(["127.0.0.2", "127.0.0.2", "127.0.0.2"], ask), [true, true, true])
      assert.deepStrictEqual(yield* Effect.forEach(["127.0.0.3", "127.0.0.3"], ask), [true, false])
    }),
  )

  it.live("are limited in total", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ maxConnections: 3 }, ok)
      const ask = (address: string) => Effect.flatMap(connectFrom(port, address, get("/")), isAnswered)
      const addresses = ["127.0.0.2", "127.0.0.3", "::1", "127.0.0.4"]
      assert.deepStrictEqual(yield* Effect.forEach(addresses, ask), [true, true, true, false])
    }),
  )
})

describe("idle connections", () => {
  it.live("are closed when their time between two requests is over", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({}, ok, { keepAliveTimeout: 100, keepAliveTimeoutBuffer: 0 })
      const client = yield* openSocket(port, get("/"))
      assert.match(yield* Effect.promise(() => client.ended), /\r\n\r\nok$/)
    }),
  )
})

describe("requests of one connection", () => {
  /** Answers on demand. */
  const onDemand = () => {
    const begun: Array<{ readonly url: string | undefined; readonly answer: () => void }> = []
    const listener: RequestListener = ({ url }, response) =>
      void begun.push({ url, answer: () => void response.end(`answer to ${url}`) })
    return { begun, listener }
  }

  it.live("begin only after the previous one was answered", () =>
    Effect.gen(function* () {
      const { begun, listener } = onDemand()
      const { port } = yield* serve({}, listener)
      const socket = yield* openSocket(port, get("/1") + get("/2") + get("/3"))
      const other = yield* openSocket(port, get("/other"))
      for (let count = 1; count <= 3; count++) {
        // No other connection waits for them.
        while (begun.length < count + 1) yield* Effect.sleep("1 millis")
        yield* Effect.sleep("20 millis")
        assert.lengthOf(begun, count + 1)
        begun.find(({ url }) => url === `/${count}`)?.answer()
        yield* Effect.promise(() => socket.receives(new RegExp(`answer to /${count}`)))
      }
      assert.deepStrictEqual(begun.map(({ url }) => url).sort(), ["/1", "/2", "/3", "/other"])
      begun.find(({ url }) => url === "/other")?.answer()
      yield* Effect.promise(() => other.receives(/answer to \/other/))
    }),
  )

  it.live("wait for their turn before `100 Continue` is sent", () =>
    Effect.gen(function* () {
      const { begun, listener } = onDemand()
      const { port, server } = yield* serve({}, listener)
      const told: Array<string | undefined> = []
      server.on("checkContinue", ({ url }: IncomingMessage) => void told.push(url))
      const head = "POST /2 HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"
      yield* openSocket(port, get("/1") + head)
      while (begun.length === 0) yield* Effect.sleep("1 millis")
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(told, [])
      begun[0]?.answer()
      while (told.length === 0) yield* Effect.sleep("1 millis")
      assert.deepStrictEqual(told, ["/2"])
    }),
  )

  it.live("are served with any unknown Expect value", () =>
    Effect.gen(function* () {
      const { begun, listener } = onDemand()
      const { port } = yield* serve({}, listener)
      const expecting = "GET /2 HTTP/1.1\r\nhost: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n"
      const socket = yield* openSocket(port, get("/1") + expecting)
      while (begun.length === 0) yield* Effect.sleep("1 millis")
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(
        begun.map(({ url }) => url),
        ["/1"],
      )
      begun[0]?.answer()
      while (begun.length === 1) yield* Effect.sleep("1 millis")
      begun[1]?.answer()
      assert.match(yield* Effect.promise(() => socket.ended), /answer to \/1[^]*200 OK[^]*answer to \/2$/)
    }),
  )

  it.live("are forgotten when the connection closes", () =>
    Effect.gen(function* () {
      const server = createServer(ok)
      const lines = takeTurns(server, {
        onBegin: () => undefined,
        clientOf: () => undefined,
        refusals: { count: () => 0, pause: () => 0 },
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
        () => Effect.sync(() => server.close()),
      )
      const address = server.address()
      assert(address !== null && typeof address === "object")
      const client = yield* openSocket(address.port, get("/"))
      yield* Effect.promise(() => client.receives(/ok$/))
      assert.strictEqual(lines.size, 1)
      client.socket.destroy()
      while (lines.size > 0) yield* Effect.sleep("1 millis")
    }),
  )

  it.live("are cut off beyond the number that may wait", () =>
    Effect.gen(function* () {
      const { begun, listener } = onDemand()
      const { port } = yield* serve({}, listener)
      const paths = Array.from({ length: 16 }, (_, i) => `/${i}`)
      const all = yield* openSocket(port, paths.map(get).join(""))
      for (const index of paths.keys()) {
        while (begun.length === index) yield* Effect.sleep("1 millis")
        begun[index]?.answer()
      }
      yield* Effect.promise(() => all.receives(/answer to \/15/))
      const oneMore = yield* openSocket(port, [...paths, "/16"].map(get).join(""))
      assert.strictEqual(yield* Effect.promise(() => oneMore.ended), "")
      assert.lengthOf(begun, 17)
    }),
  )

  it.live("are not begun behind an answer that closes the connection, nor when it was closed", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const closed: Array<string | undefined> = []
      const { port } = yield* serve({}, ({ url }, response) => {
        seen.push(url)
        response.on("close", () => closed.push(url))
        if (url === "/last") response.writeHead(200, { connection: "close" }).end("bye")
      })
      const last = yield* openSocket(port, get("/last") + get("/behind"))
      assert.include(yield* Effect.promise(() => last.ended), "bye")
      const gone = yield* openSocket(port, get("/gone") + get("/behind"))
      while (!seen.includes("/gone")) yield* Effect.sleep("1 millis")
      gone.socket.destroy()
      while (!closed.includes("/gone")) yield* Effect.sleep("1 millis")
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(seen, ["/last", "/gone"])
    }),
  )

  it.live("get `100 Continue` and an answer in their turn", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({}, (request: IncomingMessage, response) => {
        let text = ""
        request.on("data", (chunk) => (text += String(chunk)))
        request.on("end", () => response.end(`got ${request.url} ${text}`))
      })
      const head = "POST /late HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"
      const socket = yield* openSocket(port, get("/1") + head)
      yield* Effect.promise(() => socket.receives(/got \/1/))
      yield* Effect.promise(() => socket.receives(/HTTP\/1\.1 100 Continue/))
      socket.write("body")
      yield* Effect.promise(() => socket.receives(/got \/late body/))
    }),
  )
})

describe("requests that wait", () => {
  const silent: RequestListener = () => undefined

  it.live("are limited per client across its connections", () =>
    Effect.gen(function* () {
      const made = { requests: 0 }
      class Counted extends UnreadBody {
        constructor(socket: Socket) {
          super(socket)
          made.requests += 1
        }
      }
      const { endOf, port } = yield* serve({}, silent, { IncomingMessage: Counted })
      // One request of each connection is being answered.
      const fill = (address: string, requests: number) => connectFrom(port, address, get("/").repeat(requests))
      const full = yield* Effect.forEach(Array.from({ length: 34 }), () => fill("127.0.0.2", 16))
      yield* fill("127.0.0.2", 3)
      while (made.requests < 34 * 16 + 3) yield* Effect.sleep("1 millis")
      const oneMore = yield* fill("127.0.0.2", 2)
      yield* Effect.promise(() => once(oneMore, "close"))
      const other = yield* fill("127.0.0.3", 16)
      // Requests cease to wait when their connection closes.
      const [gone] = full
      assert(gone !== undefined)
      const goneHere = endOf(gone)
      assert(goneHere !== undefined)
      gone.destroy()
      while (!goneHere.closed) yield* Effect.sleep("1 millis")
      const again = yield* fill("127.0.0.2", 16)
      yield* Effect.sleep("50 millis")
      assert.deepStrictEqual([...full.slice(1), other, again].map(({ closed }) => closed).includes(true), false)
    }),
  )

  it.live("beyond the limit are not parsed, however many arrive in one read", () =>
    Effect.gen(function* () {
      let made = 0
      class Counted extends UnreadBody {
        constructor(socket: Socket) {
          super(socket)
          made += 1
        }
      }
      const { port } = yield* serve({}, silent, { IncomingMessage: Counted })
      const client = yield* connectFrom(port, "127.0.0.2", get("/").repeat(1000))
      yield* Effect.promise(() => once(client, "close"))
      assert.strictEqual(made, 17)
    }),
  )
})

describe("a connection that is refused", () => {
  const refused: RequestListener = (_, response) => void response.writeHead(429).end("no")
  const inTurn = Effect.fnUntraced(function* (socket: Socket, requests: number) {
    let answers = 0
    for (; answers < requests && !socket.closed; answers++) {
      socket.write(get("/"))
      if (!(yield* isAnswered(socket))) break
    }
    return answers
  })

  it.live("is closed after its hundredth refusal, which has `connection: close`", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({}, refused)
      const client = yield* connectFrom(port, "127.0.0.2")
      let last = ""
      client.on("data", (bytes) => (last = String(bytes)))
      assert.strictEqual(yield* inTurn(client, 100), 100)
      assert.match(last, /\r\nconnection: keep-alive\r\n/i)
      assert.strictEqual(yield* inTurn(client, 2), 1)
      assert.match(last, /^HTTP\/1\.1 429 [^]*\r\nconnection: close\r\n/i)
    }),
  )

  it.live("is not closed if it comes from a trusted proxy", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ trustedProxies: [IpNetwork.fromStringUnsafe("127.0.0.2/32")] }, refused)
      const client = yield* connectFrom(port, "127.0.0.2")
      assert.strictEqual(yield* inTurn(client, 300), 300)
    }),
  )

  const refusedUnlessGood: RequestListener = ({ url }, response) => {
    if (url === "/good") response.end("ok")
    else response.writeHead(429).end("no")
  }

  it.live("pauses while its client is refused more than 200 times a second, and other connections do not", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({}, refusedUnlessGood)
      const clients = yield* Effect.forEach(Array.from({ length: 5 }), () => connectFrom(port, "127.0.0.2"))
      const good = yield* connectFrom(port, "127.0.0.2", get("/good"))
      assert.isTrue(yield* isAnswered(good))
      const started = performance.now()
      yield* Effect.forEach(clients, (client) => inTurn(client, 80), { concurrency: "unbounded" })
      // 400 refusals: 200 at once, and 200 within a second. The last one of each connection waits for nothing.
      assert.isAbove(performance.now() - started, 900)
      const again = Effect.sync(() => {
        good.write(get("/good"))
        return good
      })
      for (const socket of [again, connectFrom(port, "127.0.0.3", get("/good"))]) {
        assert.isTrue(yield* withinTurns("500 millis")(Effect.flatMap(socket, isAnswered)))
      }
    }),
  )

  it.live("makes new connections of its client pause before their first request", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({}, refusedUnlessGood)
      const open = Effect.repeat(Effect.scoped(Effect.flatMap(connectFrom(port, "127.0.0.2", get("/")), isAnswered)), {
        times: 49,
      })
      const started = performance.now()
      yield* Effect.all(
        Array.from({ length: 8 }, () => open),
        { concurrency: "unbounded" },
      )
      // As above, with a connection for each refusal.
      assert.isAbove(performance.now() - started, 900)
      const other = Effect.flatMap(connectFrom(port, "127.0.0.3", get("/good")), isAnswered)
      assert.isTrue(yield* withinTurns("500 millis")(other))
    }),
  )
})

describe("unread answers", () => {
  /** More than the system's buffers take. */
  const LARGE = Buffer.alloc(16 * 1024 * 1024)
  const large: RequestListener = (_, response) => void response.end(LARGE)

  /** A connection on which a large answer waits, and how much of it waits in the server. */
  const unread = Effect.fnUntraced(function* (
    { endOf, port }: Effect.Success<ReturnType<typeof serve>>,
    address: string,
    requests = get("/"),
  ) {
    const client = yield* connectFrom(port, address)
    client.pause()
    client.write(requests)
    const end = endOf(client)
    assert(end !== undefined)
    while (end.writableLength === 0 && !end.destroyed) yield* Effect.sleep("1 millis")
    yield* Effect.sleep("20 millis")
    return end
  })

  it.live("are held one per connection", () =>
    Effect.gen(function* () {
      const server = yield* serve({}, large)
      const one = yield* unread(server, "127.0.0.2")
      const many = yield* unread(server, "127.0.0.2", get("/").repeat(8))
      assert.isAtLeast(one.writableLength, LARGE.length)
      assert.strictEqual(many.writableLength, one.writableLength)
    }),
  )

  it.live("share limited memory, beyond which the client with most unread bytes is cut", () =>
    Effect.gen(function* () {
      const { writableLength: each } = yield* unread(yield* serve({}, large), "127.0.0.2")

      const server = yield* serve({ maxAnswerMemory: 3 * each }, large)
      const first = yield* unread(server, "127.0.0.3")
      const greedy = [yield* unread(server, "127.0.0.2"), yield* unread(server, "127.0.0.2")]
      // Met exactly.
      assert.deepStrictEqual(
        [first, ...greedy].map(({ destroyed }) => destroyed),
        [false, false, false],
      )
      const last = yield* unread(server, "127.0.0.4")
      assert.deepStrictEqual(
        [first, ...greedy, last].map(({ destroyed }) => destroyed),
        [false, true, false, false],
      )

      const smaller = yield* serve({ maxAnswerMemory: 3 * each - 1 }, large)
      const three = [
        yield* unread(smaller, "127.0.0.2"),
        yield* unread(smaller, "127.0.0.2"),
        yield* unread(smaller, "127.0.0.3"),
      ]
      assert.deepStrictEqual(
        three.map(({ destroyed }) => destroyed),
        [true, false, false],
      )
    }),
  )

  it.live("give their memory back when they are read", () =>
    Effect.gen(function* () {
      const { writableLength: each } = yield* unread(yield* serve({}, large), "127.0.0.2")
      const { port } = yield* serve({ maxAnswerMemory: each }, large)
      for (let i = 0; i < 3; i++) {
        const response = yield* Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer())
        assert.strictEqual(response.byteLength, LARGE.length)
      }
    }),
  )

  it.live("stop counting once read, while their stream continues", () =>
    Effect.gen(function* () {
      const stream: RequestListener = (request, response) => {
        if (request.url === "/stream") response.write(LARGE)
        else response.end(LARGE)
      }
      const { writableLength: each } = yield* unread(yield* serve({}, large), "127.0.0.2")
      const server = yield* serve({ maxAnswerMemory: Math.floor(1.5 * each) }, stream)
      const client = yield* connectFrom(server.port, "127.0.0.2")
      client.pause()
      client.write(get("/stream"))
      const end = server.endOf(client)
      assert(end !== undefined)
      // Long enough to be seen.
      yield* Effect.sleep("1100 millis")
      assert.isAbove(end.writableLength, 0)
      client.resume()
      while (end.writableLength > 0) yield* Effect.sleep("1 millis")
      const other = yield* unread(server, "127.0.0.3")
      assert.deepStrictEqual([end.destroyed, other.destroyed], [false, false])
    }),
  )

  it.live("may be read late repeatedly, each time within the write time-out", () =>
    Effect.gen(function* () {
      let write = (): void => undefined
      const server = yield* serve({ writeTimeout: Duration.millis(2500), writeMinRate: 1e12 }, (_, response) => {
        write = () => void response.write(LARGE)
      })
      const client = yield* connectFrom(server.port, "127.0.0.2")
      client.pause()
      client.write(get("/"))
      const end = server.endOf(client)
      assert(end !== undefined)
      // The kernel's buffers grow from turn to turn.
      const fill = Effect.gen(function* () {
        do {
          write()
          yield* Effect.sleep("10 millis")
        } while (end.writableLength === 0)
      })
      for (let i = 0; i < 3; i++) {
        yield* fill
        yield* Effect.sleep("1200 millis")
        client.resume()
        while (end.writableLength > 0) yield* Effect.sleep("1 millis")
        // Long enough for it to be seen that nothing waits.
        yield* Effect.sleep("1200 millis")
        client.pause()
      }
      yield* fill
      assert.isFalse(end.destroyed)
      yield* Effect.promise(() => once(end, "close"))
    }),
  )

  it.live("count before their stream ends", () =>
    Effect.gen(function* () {
      const { endOf, port } = yield* serve({ maxAnswerMemory: 1024 * 1024 }, (_, response) => {
        response.write(LARGE)
      })
      const client = yield* connectFrom(port, "127.0.0.2")
      client.pause()
      client.write(get("/"))
      const end = endOf(client)
      assert(end !== undefined)
      yield* Effect.promise(() => once(end, "close"))
    }),
  )
})
