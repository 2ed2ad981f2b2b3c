/** Attacks with bodies: slow, too large, other than announced, and cheap to send but expensive to handle. */
import { randomUUID } from "node:crypto"
import type { Socket } from "node:net"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { joinContent } from "../../src/domain/protocol/sealedContent.ts"
import { tokenFor } from "../support/gateway.ts"
import { valueOf } from "../support/prometheus.ts"
import { beginSession, sealBlock } from "../support/sealing.ts"
import { destroyAll, inParallel, listen, manyConnections, takenFrom, trickle } from "./abuse/Attackers.ts"
import { attackersAt, metricsOf, type Server, startGatewayProcess, startProxyProcess } from "./abuse/Server.ts"
import { gatewayRound, MB, MIB, sealedRound, underAttack } from "./abuse/UnderAttack.ts"
import { until } from "../support/until.ts"

const headOf = (path: string, framing: string, more = ""): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}${framing}\r\n\r\n`

/** Sends bodies of a mebibyte without their end, one per connection. */
const almostWhole = async (server: Server, head: (length: number) => string, count: number) => {
  const body = Buffer.alloc(MIB - 1024, " ")
  const sockets = await manyConnections(server.port, count, 200)
  for (const socket of sockets) {
    socket.write(head(MIB))
    socket.write(body)
  }
  return sockets
}

it.live("endless bodies share one memory bound, slow ones are evicted first, and all time out", () =>
  Effect.gen(function* () {
    const budget = 64 * MIB
    const proxy = yield* startProxyProcess({ REQUEST_TIMEOUT: "8s", MAX_BODY_MEMORY: String(budget) })
    const count = 600
    yield* Effect.promise(() =>
      underAttack({
        name: "slow bodies at the proxy",
        server: proxy,
        round: sealedRound(proxy),
        // Incoming bodies, and twice as much for evicted ones, which are being closed or await a collection.
        allowed: 3 * budget,
        attack: async (atHeight) => {
          const head = (length: number) => headOf("/v1/completions", `content-length: ${length}`)
          const sockets = await almostWhole(proxy, head, count)
          const stop = trickle(sockets, " ", 1000)
          await until("all but those that have room have made way", () => attackersAt(proxy) <= budget / MIB)
          await atHeight()
          await until("the server has closed them", () => attackersAt(proxy) === 0)
          stop()
          destroyAll(sockets)
        },
      }),
    )
  }),
)

it.live("the gateway bounds endless bodies too, and reads none from unknown callers", () =>
  Effect.gen(function* () {
    const budget = 64 * MIB
    const gateway = yield* startGatewayProcess({
      REQUEST_TIMEOUT: "8s",
      MAX_BODY_MEMORY: String(budget),
      RATE_LIMIT_WRITE: "0",
    })
    const round = yield* Effect.promise(() => gatewayRound(gateway))
    const token = yield* tokenFor("mallory")
    const head = (length: number, more = "") => headOf("/api/v1/agents", `content-length: ${length}`, more)
    const count = 200
    yield* Effect.promise(() =>
      underAttack({
        name: "slow bodies at the gateway",
        server: gateway,
        round,
        allowed: 2 * budget,
        attack: async (atHeight) => {
          const strangers = await almostWhole(gateway, head, count)
          const texts = strangers.map(listen)
          await until("strangers are refused", () => texts.every((text) => text().startsWith("HTTP/1.1 401 ")))
          const known = await almostWhole(
            gateway,
            (length) => head(length, `authorization: Bearer ${token}\r\n`),
            count,
          )
          const stop = trickle([...strangers, ...known], " ", 1000)
          await until("all but those that have room have made way", () => attackersAt(gateway) <= budget / MIB)
          await atHeight()
          await until("the server has closed them", () => attackersAt(gateway) === 0)
          stop()
          destroyAll([...strangers, ...known])
        },
      }),
    )
  }),
)

const LARGE = 100 * MIB
const PIECE = Buffer.alloc(MIB, "x")

/** Writes a hundred megabytes as fast as possible, until they are sent or the connection closes. */
const pour = async (socket: Socket, piece: Uint8Array): Promise<void> => {
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  for (let sent = 0; sent < LARGE && !socket.destroyed; sent += piece.length) {
    if (socket.write(piece)) continue
    await Promise.race([new Promise<void>((resolve) => socket.once("drain", resolve)), closed])
  }
}

it.live("bodies of 100 MB are refused unread, whatever length they announce", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxyProcess({ MAX_REQUEST_BYTES: String(MIB) })
    const gateway = yield* startGatewayProcess({ RATE_LIMIT_WRITE: "0" })
    const token = yield* tokenFor("mallory")
    const round = yield* Effect.promise(() => gatewayRound(gateway))
    const chunked = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), PIECE, Buffer.from("\r\n")])
    const framings: ReadonlyArray<readonly [framing: string, piece: Uint8Array, status: RegExp]> = [
      [`content-length: ${LARGE}`, PIECE, /^(HTTP\/1\.1 413 |$)/],
      // The proxy refuses chunked bodies.
      ["transfer-encoding: chunked", chunked, /^(HTTP\/1\.1 41[13] |$)/],
      // Bytes beyond the announced length are not a request.
      ["content-length: 10", PIECE, /^(HTTP\/1\.1 400 |$)/],
      // One chunk with a false small size, and one with an endless extension.
      ["transfer-encoding: chunked\r\n\r\n1", PIECE, /^(HTTP\/1\.1 4\d\d |$)/],
      ["transfer-encoding: chunked\r\n\r\n1;x=", PIECE, /^(HTTP\/1\.1 4\d\d |$)/],
    ]
    const count = 20
    const attack = (server: Server, path: string, more: string) => async () => {
      for (const [framing, piece, status] of framings) {
        const sockets = await manyConnections(server.port, count, count)
        const texts = sockets.map(listen)
        await Promise.all(
          sockets.map(async (socket) => {
            const head = headOf(path, framing, more)
            // The head of a begun chunk has no end.
            socket.write(framing.includes("\r\n") ? head.slice(0, -4) : head)
            await pour(socket, piece)
          }),
        )
        for (const text of texts) assert.match(text().split("\r\n")[0] ?? "", status, framing)
        // Beyond the bytes read, the system's buffers at either end hold some.
        for (const socket of sockets) assert.isBelow(takenFrom(socket), LARGE / 2, framing)
        destroyAll(sockets)
      }
    }
    // All connections, each with the most that is read of one.
    const allowed = count * 2 * MIB
    yield* Effect.promise(async () => {
      await underAttack({
        name: "100 MB bodies at the proxy",
        server: proxy,
        round: sealedRound(proxy),
        allowed,
        attack: attack(proxy, "/v1/completions", ""),
      })
      const more = `authorization: Bearer ${token}\r\n`
      await underAttack({
        name: "100 MB bodies at the gateway",
        server: gateway,
        round,
        allowed,
        attack: attack(gateway, "/api/v1/agents", more),
      })
    })
  }),
)

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth)
const keysOf = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":1`).join(",")

/** Bodies of up to 600 kB with odd JSON at `member`, or everywhere. */
const bombs = (member: string): ReadonlyArray<string> => [
  nested(100_000),
  nested(300_000),
  nested(90_000, `{"a":`, "}").replace(":}", ":1}"),
  `{"${member}":${nested(300_000)}}`,
  `{${keysOf(45_000)}}`,
  `{"${member}":"${"A".repeat(600_000)}"}`,
  `{"${member}":"${"\\u0041".repeat(100_000)}"}`,
  `{"${member}":${"9".repeat(600_000)}}`,
  `{"${member}":1e${"9".repeat(600_000)}}`,
  `{${`"${member}":1,`.repeat(30_000)}"${member}":2}`,
  `{"${member}":[${"1,".repeat(300_000)}1]}`,
  `{"${member}":[${"{},".repeat(200_000)}{}]}`,
  `{"__proto__":{"${member}":1},"constructor":{"prototype":1},"${member}":1}`,
]

it.live("expensive JSON is cheap to refuse, in the clear and under the seal", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxyProcess({ RATE_LIMIT_INIT: "0" })
    const gateway = yield* startGatewayProcess({ RATE_LIMIT_WRITE: "0" })
    const token = yield* tokenFor("mallory")
    const round = yield* Effect.promise(() => gatewayRound(gateway))
    const rounds = 4
    const shoot = async (
      server: Server,
      path: string,
      body: string,
      { headers = {}, status = 400 }: { readonly headers?: Record<string, string>; readonly status?: number } = {},
    ) => {
      const response = await fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      })
      const text = await response.text()
      // A short problem, for every body.
      assert.strictEqual(response.status, status, `${path} ${body.slice(0, 40)}: ${text.slice(0, 200)}`)
      assert.isBelow(text.length, 32 * 1024, body.slice(0, 40))
    }
    // Two at a time; each megabyte expands to some tens before it is refused.
    const allowed = 2 * 64 * MB
    yield* Effect.promise(async () => {
      await underAttack({
        name: "JSON at the proxy",
        server: proxy,
        round: sealedRound(proxy),
        allowed,
        attack: async () => {
          const session = await beginSession(proxy)
          const inClear = [
            // All exceed the limit for beginning a session.
            ...bombs("client_nonce").map((bomb) => ["/v1/init", bomb, 413] as const),
            ...bombs("ciphertext").map((bomb) => ["/v1/completions", bomb, 400] as const),
          ].filter(([, bomb]) => !bomb.startsWith('{"__proto__'))
          const sealed = await inParallel(bombs("messages").length, async (index) => {
            const completion = bombs("messages")[index] ?? ""
            const request = `{"request_id":"${randomUUID()}","issued_at":${Date.now()},"api":"chat.completions","body":${completion}}`
            const body = await sealBlock(session, pad(joinContent("", utf8(request)), FLOOR))
            return ["/v1/completions", JSON.stringify(body)] as const
          })
          // Refusals under the seal look like any answer; metrics count each.
          for (const [path, bomb] of sealed) await shoot(proxy, path, bomb, { status: 200 })
          const failed = { form: "complete", status: "failed" }
          assert.strictEqual(valueOf(await metricsOf(proxy), "sealgate_sealed_responses_total", failed), sealed.length)
          for (let i = 0; i < rounds; i++) {
            await inParallel(2, async () => {
              for (const [path, bomb, status] of inClear) await shoot(proxy, path, bomb, { status })
            })
          }
        },
      })
      const headers = { authorization: `Bearer ${token}` }
      await underAttack({
        name: "JSON at the gateway",
        server: gateway,
        round,
        allowed,
        attack: async () => {
          const shots = [...bombs("name"), `{"name":"a","model_policy":{"allow":[${"1,".repeat(8000)}1]}}`]
          for (let i = 0; i < rounds; i++) {
            await inParallel(2, async () => {
              for (const bomb of shots) await shoot(gateway, "/api/v1/agents", bomb, { headers })
            })
          }
        },
      })
    })
  }),
)
