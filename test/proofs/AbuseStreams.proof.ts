/** Attacks with unread answers: they are neither sent nor kept, and finally cut. */
import { readFileSync } from "node:fs"
import { randomUUID } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { sealRequest } from "../../src/client/sealed/sealRequest.ts"
import { DEFAULT_PACE, UNPACED } from "../../src/domain/protocol/pace.ts"
import { valueOf } from "../support/prometheus.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { beginSession } from "../support/sealing.ts"
import { postOf } from "../support/sockets.ts"
import { addressOf, connectFrom, destroyAll, inParallel, listen, manyConnections } from "./abuse/Attackers.ts"
import { FLOOD_BYTES, startFloodingProvider } from "./abuse/FloodingProvider.ts"
import { attackersAt, metricsOf, type ProxyProcess, startGatewayProcess, startProxyProcess } from "./abuse/Server.ts"
import { gatewayRound, KB, MB, MIB, sealedRound, underAttack } from "./abuse/UnderAttack.ts"
import { until } from "../support/until.ts"

/** Below the default of `MAX_CONCURRENT_PER_CLIENT`, 64. */
const PER_ADDRESS = 50

/** The system's largest socket buffer, in bytes. */
const limitOf = (name: "tcp_wmem" | "tcp_rmem"): number =>
  Number(readFileSync(`/proc/sys/net/ipv4/${name}`, "utf8").trim().split(/\s+/)[2])

/** Requests streams of provider 2 at a pace, each on a separate connection that reads nothing. */
const askAndPause = async (proxy: ProxyProcess, count: number, pace: number) => {
  const sessions = await inParallel(Math.ceil(count / PER_ADDRESS), () => beginSession(proxy))
  return inParallel(count, async (index) => {
    const address = Math.floor(index / PER_ADDRESS)
    const session = sessions[address]
    if (session === undefined) throw new Error("no session for this address")
    const id = randomUUID()
    const issuedAt = Date.now() + session.clockOffset
    const api = "chat.completions"
    const payload = JSON.stringify({
      request_id: id,
      issued_at: issuedAt,
      provider: "provider2",
      api,
      pace,
      body: { prompt: "x", stream: true },
    })
    const { body } = await sealRequest(session, { requestId: id, payload, credential: "" })
    const socket = await connectFrom(proxy.port, addressOf(address))
    socket.pause().write(postOf("/v1/completions", body))
    return socket
  })
}

const started = Effect.gen(function* () {
  const provider = yield* startFloodingProvider
  const fake = yield* FakeUpstream.make()
  fake.always(({ text }) => ({ text }))
  const proxy = yield* startProxyProcess({
    PROVIDER1_API_KEY: "key",
    PROVIDER1_BASE_URL: fake.openAi,
    PROVIDER2_API_KEY: "key",
    PROVIDER2_BASE_URL: provider.url,
    // Long enough for all to stall before the first is cut, even on a busy machine.
    WRITE_TIMEOUT: "20s",
  })
  return { provider, proxy }
})

/** Ways in which unread streams end. */
const ENDINGS = [
  {
    title: "unread unpaced streams pause their provider, cost bounded memory, and are cut by the write time-out",
    name: "stalled readers",
    pace: UNPACED,
    leave: () => undefined,
  },
  {
    // One block a tick takes minutes to fill a connection's buffers; the write time-out counts only from then on.
    title: "unread paced streams pause their provider, cost bounded memory, and end with their readers",
    name: "stalled readers of paced streams",
    pace: DEFAULT_PACE,
    leave: destroyAll,
  },
] as const

it.live.each(ENDINGS)("$title", ({ leave, name, pace }) =>
  Effect.gen(function* () {
    const { provider, proxy } = yield* started
    const count = 60
    yield* Effect.promise(() =>
      underAttack({
        name,
        server: proxy,
        round: sealedRound(proxy),
        count,
        // Events are 16 KiB here. Four wait to be sealed, and as many are being taken and sealed, 128 KiB; one read of the
        // provider brings up to 128 KiB, which exist as bytes, as text and as chunks; 64 KiB wait sealed, and as much at the
        // socket, as text and as bytes, a third longer when encoded. That makes less than a megabyte, and as much
        // becomes garbage until the streams stall. In a paced stream 1 MiB more may wait for its tick before the
        // provider is paused, as chunks and as their text. Frames of an unpaced one have up to 256 KiB.
        allowed: count * (2 * MB + 2 * MIB),
        // Up to 9 MB passed through each before it stalled, as text, chunks and sealed.
        litter: 300 * MB,
        attack: async (atHeight) => {
          const sockets = await askAndPause(proxy, count, pace)
          // Paced streams continue at about 10 kB a second, up to 1 MiB.
          let last = -Infinity
          await until("all streams stand still", async () => {
            const taken = provider.taken()
            const sum = taken.reduce((sum, bytes) => sum + bytes, 0)
            await new Promise((resolve) => setTimeout(resolve, 300))
            const still = taken.length === count && sum - last < count * 16 * KB
            last = sum
            return still
          })
          await atHeight()
          // Two connections with a buffer at either end, and the memory of the proxy.
          const onTheWay = 2 * (limitOf("tcp_wmem") + 2 * MB) + 2 * MB
          assert.isBelow(onTheWay, FLOOD_BYTES)
          const taken = provider.taken()
          assert.lengthOf(taken, count)
          for (const bytes of taken) assert.isBelow(bytes, onTheWay)
          console.info(
            `a stalled stream has taken at most ${(Math.max(...taken) / MB).toFixed(1)} MB from its provider`,
          )
          leave(sockets)
          await until("the server has dropped them", () => attackersAt(proxy) === 0)
          // With them end the calls to the provider.
          await until("the provider is rid of them", () => provider.taken().length === 0)
          const calls = valueOf(await metricsOf(proxy), "sealgate_upstream_calls_in_flight", { provider: "provider2" })
          assert.strictEqual(calls, 0)
          destroyAll(sockets)
        },
      }),
    )
  }),
)

const GET = "GET /console/main.js HTTP/1.1\r\nhost: localhost\r\n\r\n"

/** Opens connections that request more than the socket buffers hold, read nothing, and send `more`. */
const askAndLeave = async (port: number, count: number, more: string | Uint8Array) => {
  const sockets = await manyConnections(port, count, 10)
  for (const socket of sockets) {
    socket.pause().write(GET.repeat(15))
    socket.write(more)
  }
  return sockets
}

it.live("unread documents share one copy, and bodies behind them cost their size", () =>
  Effect.gen(function* () {
    const gateway = yield* startGatewayProcess({ WRITE_TIMEOUT: "10s" })
    const round = yield* Effect.promise(() => gatewayRound(gateway))
    // A refused attack would pass every bound.
    const asked = yield* Effect.promise(() => connectFrom(gateway.port, addressOf(0)))
    const answered = listen(asked)
    asked.write(GET)
    yield* Effect.promise(() => until("the document is answered", () => answered().length > 300 * KB))
    assert.match(answered(), /^HTTP\/1\.1 200 /)
    asked.destroy()
    const count = 240
    const attack = (more: string | Uint8Array) => async (atHeight: () => Promise<void>) => {
      const sockets = await askAndLeave(gateway.port, count, more)
      await new Promise((resolve) => setTimeout(resolve, 3000))
      await atHeight()
      await until("the server has cut them", () => attackersAt(gateway) === 0)
      destroyAll(sockets)
    }
    // One request in flight and 15 queued, of about 2 kB each, doubled; the document has 300 kB.
    const connection = 100 * KB
    const inChunks =
      "POST /api/v1/agents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" +
      `100\r\n${"x".repeat(256)}\r\n`.repeat(400)
    yield* Effect.promise(async () => {
      await underAttack({
        name: "documents that nobody reads",
        server: gateway,
        round,
        count,
        allowed: count * connection,
        attack: attack(GET),
      })
      await underAttack({
        name: "bodies in chunks behind them",
        server: gateway,
        round,
        count,
        // 64 KiB of each are read, into a buffer of up to twice the size.
        allowed: count * (connection + (2 * MIB) / 16),
        attack: attack(inChunks),
      })
    })
  }),
)
