/** Servers accept only their own host names, against DNS rebinding. */
import { hostname, networkInterfaces } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { SealedProblem } from "../../src/client/index.ts"
import { startConnector } from "../support/connector.ts"
import { databaseUrl, startGateway } from "../support/gateway.ts"
import { type PlainAnswer, plainRequest } from "../support/plainRequest.ts"
import { failing } from "../support/promises.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT } from "../support/sealing.ts"
import { openSocket } from "../support/sockets.ts"

interface Names {
  readonly host?: string
  readonly allowedHosts?: ReadonlyArray<string>
}

const servers = {
  proxy: Effect.fnUntraced(function* ({ allowedHosts, host = "127.0.0.1" }: Names, logs: Array<string> = []) {
    const logger = Logger.make(({ message }) => void logs.push(String(message)))
    return (yield* startProxy({ settings: { host, allowedHosts }, services: Logger.layer([logger]) })).port
  }),
  gateway: Effect.fnUntraced(function* ({ allowedHosts, host = "127.0.0.1" }: Names, logs: Array<string> = []) {
    const logger = Logger.make(({ message }) => void logs.push(String(message)))
    const names = { HOST: host, ALLOWED_HOSTS: (allowedHosts ?? []).join(",") }
    const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), names).pipe(
      Effect.provide(Logger.layer([logger])),
    )
    return Number(new URL(url).port)
  }),
  connector: Effect.fnUntraced(function* ({ allowedHosts = [], host = "127.0.0.1" }: Names) {
    return (yield* startConnector({ sealed: { baseUrl: "http://127.0.0.1:9", pins: ["A"] }, host, allowedHosts })).port
  }),
} as const
const KINDS = ["proxy", "gateway", "connector"] as const

const SETTING = { proxy: "ALLOWED_HOSTS", gateway: "ALLOWED_HOSTS", connector: "--allow-host" }

const health = (port: number, host: string): Effect.Effect<PlainAnswer> =>
  Effect.promise(() => plainRequest({ port, path: "/health", headers: { host } }))

const OWN = ["localhost:1", "LOCALHOST", "localhost.", "127.0.0.1", "127.0.0.1:3001", "127.1.2.3"]
const OWN_V6 = ["[::1]", "[::1]:3001", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"]
const STRANGE = [
  "rebind.evil.example",
  "rebind.evil.example:3001",
  "localhost.evil.example",
  "app.localhost",
  "127.0.0.1.evil.example",
  "evil-localhost",
  "evil.example.",
]
/** An address under which other machines reach this one, if there is one. */
const OUTSIDE = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .map(({ address, family }) => (family === "IPv6" ? `[${address}]:3001` : address))
const ADDRESSES = ["192.0.2.5", "192.0.2.5:3001", "[2001:db8::5]:3001", "0.0.0.0"]

describe.each(KINDS)("the %s", (kind) => {
  const assertRefused = (answer: PlainAnswer, host: string) => {
    assert.strictEqual(answer.status, 421, host)
    assert.include(answer.text, SETTING[kind])
    assert.include(answer.text, "misdirected")
  }

  it.live("on loopback answers only under names and addresses of its machine", () =>
    Effect.gen(function* () {
      const port = yield* servers[kind]({})
      for (const host of [...OWN, ...OWN_V6, ...OUTSIDE, hostname()]) {
        assert.strictEqual((yield* health(port, host)).status, 200, host)
      }
      for (const host of [...STRANGE, ...ADDRESSES]) assertRefused(yield* health(port, host), host)
      const path = kind === "gateway" ? "/api/v1/agents" : kind === "proxy" ? "/v1/init" : "/v1/chat/completions"
      const headers = { host: "rebind.evil.example", "content-type": "application/json" }
      assertRefused(yield* Effect.promise(() => plainRequest({ port, path, headers, body: "{}" })), path)
    }),
  )

  it.live("answers under the names in ALLOWED_HOSTS as well", () =>
    Effect.gen(function* () {
      const port = yield* servers[kind]({ allowedHosts: ["Sealgate.example.", "192.0.2.5", "2001:DB8:0::5"] })
      for (const host of [...OWN, "sealgate.example", "Sealgate.Example.:8443", "192.0.2.5:1", "[2001:DB8:0::5]"]) {
        assert.strictEqual((yield* health(port, host)).status, 200, host)
      }
      for (const host of [...STRANGE, "a.sealgate.example", "192.0.2.6"]) assertRefused(yield* health(port, host), host)
    }),
  )

  it.live("beyond loopback answers probes by address, even with ALLOWED_HOSTS", () =>
    Effect.gen(function* () {
      const port = yield* servers[kind]({ host: "0.0.0.0", allowedHosts: ["sealgate.example"] })
      for (const host of [...OWN, ...ADDRESSES, "sealgate.example"]) {
        assert.strictEqual((yield* health(port, host)).status, 200, host)
      }
      for (const host of STRANGE) assertRefused(yield* health(port, host), host)
    }),
  )

  it.live("accepts any name with *", () =>
    Effect.gen(function* () {
      const port = yield* servers[kind]({ allowedHosts: ["*"] })
      for (const host of [...OWN, ...STRANGE]) assert.strictEqual((yield* health(port, host)).status, 200, host)
    }),
  )

  it.live("requires exactly one valid Host", () =>
    Effect.gen(function* () {
      const port = yield* servers[kind]({ allowedHosts: ["*"] })
      // An allowed host is refused together with a second one.
      assert.strictEqual((yield* health(port, "localhost")).status, 200)
      const bad = [
        "",
        "host: localhost\r\nhost: localhost\r\n",
        "host: localhost\r\nHOST: evil.example\r\n",
        "host:\r\n",
        "host: a b\r\n",
        "host: a,b\r\n",
        "host: user@localhost\r\n",
        "host: localhost/path\r\n",
        "host: localhost:port\r\n",
        "host: [::1\r\n",
      ]
      for (const lines of bad) {
        for (const target of ["/health", "http://localhost/health"]) {
          const request = `GET ${target} HTTP/1.1\r\n${lines}connection: close\r\n\r\n`
          const connection = yield* openSocket(port, request)
          assert.match(yield* Effect.promise(() => connection.ended), /^HTTP\/1\.1 400 /, request)
        }
      }
      const odd = yield* openSocket(
        port,
        "GET http://a,b/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
      )
      assert.match(yield* Effect.promise(() => odd.ended), /^HTTP\/1\.1 400 /)
      // An authority in the request target takes precedence (RFC 9112 §3.2.2).
      const strict = yield* servers[kind]({})
      for (const [target, host, status] of [
        ["http://evil.example/health", "localhost", 421],
        ["http://localhost/health", "evil.example", 200],
      ] as const) {
        const connection = yield* openSocket(
          strict,
          `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
        )
        assert.match(yield* Effect.promise(() => connection.ended), new RegExp(`^HTTP/1\\.1 ${status} `), target)
      }
      // Probes of old load balancers have no Host.
      const old = yield* openSocket(strict, "GET /health HTTP/1.0\r\n\r\n")
      assert.match(yield* Effect.promise(() => old.ended), /^HTTP\/1\.1 200 /)
    }),
  )
})

describe.each(["proxy", "gateway"] as const)("the %s without ALLOWED_HOSTS", (kind) => {
  it.live("beyond loopback answers under any name, and logs that", () =>
    Effect.gen(function* () {
      const open: Array<string> = []
      const port = yield* servers[kind]({ host: "0.0.0.0" }, open)
      for (const host of [...OWN, ...STRANGE]) assert.strictEqual((yield* health(port, host)).status, 200, host)
      assert.lengthOf(
        open.filter((line) => line.includes("ALLOWED_HOSTS")),
        1,
      )
      for (const names of [{}, { host: "0.0.0.0", allowedHosts: ["*"] }, { host: "0.0.0.0", allowedHosts: ["x"] }]) {
        const quiet: Array<string> = []
        yield* servers[kind](names, quiet)
        assert.notInclude(quiet.join("\n"), "ALLOWED_HOSTS")
      }
    }),
  )
})

describe("a connector without names", () => {
  it.live("beyond loopback answers only under addresses", () =>
    Effect.gen(function* () {
      const port = yield* servers.connector({ host: "0.0.0.0" })
      for (const host of [...OWN, ...ADDRESSES]) assert.strictEqual((yield* health(port, host)).status, 200, host)
      for (const host of STRANGE) assert.strictEqual((yield* health(port, host)).status, 421, host)
    }),
  )
})

it.live("X-Forwarded-Host does not replace Host", () =>
  Effect.gen(function* () {
    const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), { TRUSTED_PROXIES: "127.0.0.1" })
    const headers = {
      host: "rebind.evil.example",
      "x-forwarded-for": "192.0.2.1",
      "x-forwarded-host": "localhost",
    }
    const port = Number(new URL(gateway.url).port)
    assert.strictEqual((yield* Effect.promise(() => plainRequest({ port, path: "/health", headers }))).status, 421)
  }),
)

it.live("a request refused for its host does not count against a limit", () =>
  Effect.gen(function* () {
    const { port } = yield* startProxy({ settings: { rateLimitInit: 1 } })
    const begin = (host: string) =>
      Effect.promise(() =>
        plainRequest({
          port,
          path: "/v1/init",
          method: "POST",
          headers: { host, "content-type": "application/json" },
          body: JSON.stringify(INIT),
        }),
      )
    for (let i = 0; i < 3; i++) assert.strictEqual((yield* begin("rebind.evil.example")).status, 421)
    assert.strictEqual((yield* begin("localhost")).status, 200)
    assert.strictEqual((yield* begin("localhost")).status, 429)
  }),
)

it.live("a client's error names the refused host, and says that nothing was served", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const client = proxy.client({ baseUrl: proxy.url.replace("127.0.0.1", "0.0.0.0") })
    const error = yield* failing(client.complete({ prompt: "hello" }))
    assert.instanceOf(error, SealedProblem)
    assert.deepInclude(error.problem, { status: 421, code: "misdirected", retryable: false })
    assert.deepInclude(error, { sealed: false, mayHaveBeenServed: false })
    assert.include(error.message, "The request is for 0.0.0.0. ")
    assert.include(error.message, "ALLOWED_HOSTS")
  }),
)
