/** Strangers who open connections and hold them: idle, slow, half-spoken, crowded. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { hasOpenssl, httpsFetch, makeCertificate } from "../support/certificates.ts"
import { INIT } from "../support/sealing.ts"
import { connectFrom, addressOf, destroyAll, inParallel, listen, manyConnections, trickle } from "./abuse/Attackers.ts"
import { attackersAt, startGatewayProcess, startProxyProcess } from "./abuse/Server.ts"
import { gatewayRound, KB, MB, sealedRound, underAttack, until } from "./abuse/UnderAttack.ts"

/** The longest head that is read: before there is a request, a connection cannot make the server keep more. */
const HEAD = 16 * 1024
/** A connection of Node's: the socket, its parser and their handles. */
const CONNECTION = 16 * KB
/** `MAX_CONNECTIONS_PER_CLIENT`, as it is by default. */
const PER_CLIENT = 256

it.live("5,000 idle connections cost their sockets, and one address gets its share", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxyProcess({ HEADERS_TIMEOUT: "6s" })
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
          // They end by themselves: nothing was said within the time for a head.
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          destroyAll([...greedy, ...sockets])
        },
      }),
    )
  }),
)

it.live("the same at the gateway", () =>
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

it.live("heads that come a byte at a time cost no more than heads, and end in time", () =>
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
          // As much as fits before the end, so that there is something to keep.
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

it.live("heads that are too long, or full of fields, pipelines and upgrades are served or refused, not kept", () =>
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
        // Node reads 64 KiB at a time and makes requests of all of it, 1,820 here, of some 2 kB each until they are dropped.
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
          // Twenty thousand requests at once on each connection, and nobody reads the answers.
          const sockets = await manyConnections(proxy.port, piled, 100)
          for (const socket of sockets) socket.pause().write(`${line}\r\n`.repeat(20_000))
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          // A few, again and again: what is read is answered, and what is not answered is not read.
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

it.live.skipIf(!hasOpenssl)("handshakes that do not come count as connections, and end in time", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "sealgate-proof-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
    )
    const certificate = makeCertificate(folder, "server")
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
        // OpenSSL keeps some 50 kB for a connection from its first byte on: buffers of one record each way.
        allowed: count * (CONNECTION + 64 * KB),
        attack: async (atHeight) => {
          const greedy = await manyConnections(proxy.port, 2 * PER_CLIENT, 2 * PER_CLIENT, 1000)
          await until("one address has its share", () => attackersAt(proxy) === PER_CLIENT)
          const sockets = await manyConnections(proxy.port, count, 200)
          // A record that announces 512 bytes of a ClientHello, of which they come one by one.
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

it.live("a flood of sessions ends at their limits, by address and in all", () =>
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
        // 4.5 kB each as documented, and as much again for the answers under way.
        allowed: maxLive * 9 * KB,
        // A key pair and a signature for each of 12,000 sessions within a few seconds.
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
            // The bucket fills up again while it is emptied, by one a second.
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
