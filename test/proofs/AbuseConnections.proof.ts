/** Attacks with open connections: idle, slow, incomplete, pipelined. */
import { setTimeout } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { hasOpenssl, httpsFetch, makeCertificate } from "../support/certificates.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { INIT } from "../support/sealing.ts"
import { connectFrom, addressOf, destroyAll, inParallel, listen, manyConnections, trickle } from "./abuse/Attackers.ts"
import { attackersAt, startGatewayProcess, startProxyProcess } from "./abuse/Server.ts"
import { gatewayRound, KB, MB, sealedRound, underAttack } from "./abuse/UnderAttack.ts"
import { until } from "../support/until.ts"

/** The longest head, and so the most that a connection can hold before a request. */
const HEAD = 16 * 1024
/** Memory of a Node connection: socket, parser and handles. */
const CONNECTION = 16 * KB
/** The default of `MAX_CONNECTIONS_PER_CLIENT`. */
const PER_CLIENT = 256

it.live("5,000 idle connections cost only their sockets, and one address is limited", () =>
  Effect.gen(function* () {
    // Long enough to open all of them on a busy machine.
    const proxy = yield* startProxyProcess({ HEADERS_TIMEOUT: "12s" })
    const count = 5000
    yield* Effect.promise(() =>
      underAttack({
        name: "idle connections to the proxy",
        server: proxy,
        round: sealedRound(proxy),
        count,
        allowed: count * CONNECTION,
        attack: async (atHeight) => {
          const greedy = await manyConnections(proxy.port, 2 * PER_CLIENT, 2 * PER_CLIENT, 1000)
          await until("one address has its share", () => attackersAt(proxy) === PER_CLIENT)
          const sockets = await manyConnections(proxy.port, count, 200)
          await until("all are accepted", () => attackersAt(proxy) === count + PER_CLIENT)
          await atHeight()
          // They end by the time limit for a head.
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          destroyAll([...greedy, ...sockets])
        },
      }),
    )
  }),
)

it.live("idle connections at the gateway cost only their sockets, and one address is limited", () =>
  Effect.gen(function* () {
    const gateway = yield* startGatewayProcess({ HEADERS_TIMEOUT: "4s" })
    const count = 2000
    const round = yield* Effect.promise(() => gatewayRound(gateway))
    yield* Effect.promise(() =>
      underAttack({
        name: "idle connections to the gateway",
        server: gateway,
        round,
        count,
        allowed: count * CONNECTION,
        attack: async (atHeight) => {
          const sockets = await manyConnections(gateway.port, count, 200)
          await until("all are accepted", () => attackersAt(gateway) === count)
          await atHeight()
          await until("the server has closed them", () => attackersAt(gateway) === 0)
          destroyAll(sockets)
        },
      }),
    )
  }),
)

it.live("heads sent byte by byte cost no more than whole ones, and time out", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxyProcess({ HEADERS_TIMEOUT: "4s" })
    const count = 2000
    yield* Effect.promise(() =>
      underAttack({
        name: "slow heads",
        server: proxy,
        round: sealedRound(proxy),
        count,
        allowed: count * (CONNECTION + HEAD),
        attack: async (atHeight) => {
          const sockets = await manyConnections(proxy.port, count, 200)
          // The largest head without its end.
          const fields = Array.from({ length: 100 }, (_, i) => `x-${i}: ${"y".repeat(100)}\r\n`).join("")
          for (const socket of sockets) socket.write(`GET /health HTTP/1.1\r\nhost: localhost\r\n${fields}x-slow: `)
          const stop = trickle(sockets, "z", 500)
          await setTimeout(1000)
          await atHeight()
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          stop()
          destroyAll(sockets)
        },
      }),
    )
  }),
)

it.live("long heads, many fields, pipelines and upgrades are served or refused, and not kept", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxyProcess()
    const count = 200
    const piled = 50
    const many = Array.from({ length: 1500 }, (_, i) => `${i}:\r\n`).join("")
    const line = "GET /health HTTP/1.1\r\nhost: localhost\r\n"
    const cases: ReadonlyArray<readonly [bytes: string, answer: RegExp]> = [
      [`${line}x: ${"y".repeat(64 * 1024)}\r\n\r\n`, /^(HTTP\/1\.1 431 |$)/],
      [`GET /${"y".repeat(64 * 1024)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, /^(HTTP\/1\.1 431 |$)/],
      [`${line}${many}connection: close\r\n\r\n`, /^HTTP\/1\.1 (200|431) /],
      [`${line}connection: upgrade\r\nupgrade: websocket\r\n\r\n`, /^HTTP\/1\.1 200 /],
      [`CONNECT x:1 HTTP/1.1\r\nhost: localhost\r\n\r\n`, /^(HTTP\/1\.1 4\d\d |$)/],
    ]
    yield* Effect.promise(() =>
      underAttack({
        name: "heads and pipelines",
        server: proxy,
        round: sealedRound(proxy),
        // Node parses 64 KiB at a time into 1,820 requests of about 2 kB each, which live until they are dropped.
        allowed: count * (CONNECTION + HEAD) + piled * 1820 * 2 * KB,
        attack: async (atHeight) => {
          for (const [bytes, answer] of cases) {
            const sockets = await manyConnections(proxy.port, count, 100)
            const texts = sockets.map(listen)
            for (const socket of sockets) socket.write(bytes)
            await until(`all are answered: ${bytes.slice(0, 60)}`, () =>
              sockets.every((socket, i) => socket.closed || socket.readableEnded || texts[i]?.() !== ""),
            )
            for (const text of texts) assert.match(text(), answer)
            destroyAll(sockets)
          }
          // Twenty thousand requests at once on each connection, answers unread.
          const sockets = await manyConnections(proxy.port, piled, 100)
          for (const socket of sockets) socket.pause().write(`${line}\r\n`.repeat(20_000))
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          // A few requests repeatedly: the server reads only those that it answers.
          const more = await manyConnections(proxy.port, piled, 100)
          for (const socket of more) socket.pause()
          const stop = trickle(more, `${line}\r\n`.repeat(8), 20)
          await setTimeout(2000)
          stop()
          await atHeight()
          destroyAll([...sockets, ...more])
        },
      }),
    )
  }),
)

it.live.skipIf(!hasOpenssl)("stalled handshakes count as connections, and time out", () =>
  Effect.gen(function* () {
    const certificate = makeCertificate(yield* temporaryFolder, "server")
    const proxy = yield* startProxyProcess(
      { TLS_CERT_FILE: certificate.cert, TLS_KEY_FILE: certificate.key, HEADERS_TIMEOUT: "5s" },
      httpsFetch(certificate),
    )
    const count = 1000
    yield* Effect.promise(() =>
      underAttack({
        name: "slow TLS handshakes",
        server: proxy,
        round: sealedRound(proxy),
        warmUp: 15,
        count,
        // OpenSSL holds about 50 kB per connection from its first byte: one record buffer each way.
        allowed: count * (CONNECTION + 64 * KB),
        attack: async (atHeight) => {
          const greedy = await manyConnections(proxy.port, 2 * PER_CLIENT, 2 * PER_CLIENT, 1000)
          await until("one address has its share", () => attackersAt(proxy) === PER_CLIENT)
          const sockets = await manyConnections(proxy.port, count, 200)
          // A record that announces a ClientHello of 512 bytes, sent one by one.
          for (const socket of sockets.slice(count / 2)) socket.write(Buffer.from("160301020001", "hex"))
          const stop = trickle(sockets.slice(count / 2), "\0", 500)
          await setTimeout(500)
          await atHeight()
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          stop()
          destroyAll([...greedy, ...sockets])
        },
      }),
    )
  }),
)

it.live("a flood of sessions stops at the limits per address and in all", () =>
  Effect.gen(function* () {
    const maxLive = 5000
    const proxy = yield* startProxyProcess({ SESSION_MAX_LIVE: String(maxLive), SESSION_TTL: "45s" })
    const addresses = 200
    const perMinute = 60
    yield* Effect.promise(() =>
      underAttack({
        name: "sessions",
        server: proxy,
        round: sealedRound(proxy),
        count: maxLive,
        // The documented 4.5 kB each, and as much for pending answers.
        allowed: maxLive * 9 * KB,
        // 12,000 key pairs and signatures within a few seconds.
        litter: 250 * MB,
        attack: async (atHeight) => {
          const each = 70
          const body = JSON.stringify(INIT)
          const request = `POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
          const answers = await inParallel(addresses, async (index) => {
            const socket = await connectFrom(proxy.port, addressOf(index))
            const text = listen(socket)
            const statuses = () => text().match(/HTTP\/1\.1 \d{3}/g) ?? []
            const started = performance.now()
            for (let sent = 0; sent < each && !socket.closed;) {
              socket.write(request.repeat(10))
              sent += 10
              await until("all are answered", () => statuses().length >= sent || socket.closed)
            }
            socket.destroy()
            return { statuses: statuses(), seconds: (performance.now() - started) / 1000 }
          })
          await atHeight()
          for (const { seconds, statuses } of answers) {
            assert.lengthOf(statuses, each)
            // The bucket refills by one a second meanwhile.
            const served = statuses.filter((status) => status === "HTTP/1.1 200").length
            assert.isAtLeast(served, perMinute)
            assert.isAtMost(served, perMinute + Math.ceil(seconds))
          }
          const response = await fetch(`${proxy.operatorUrl}/ready`)
          const { sessions } = (await response.json()) as { readonly sessions: { readonly live: number } }
          assert.strictEqual(sessions.live, maxLive)
        },
      }),
    )
  }),
)
