/** The operator's listener, and that strangers cannot read its reports. */
import { request } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SealedProxy } from "../../src/layers/Proxy.ts"
import { hasOpenssl, httpsFetch, makeCertificate } from "../support/certificates.ts"
import { freePort } from "../support/freePort.ts"
import { type Answer, call, callOperator, databaseUrl, problemIn, startGateway } from "../support/gateway.ts"
import { plainRequest } from "../support/plainRequest.ts"
import { failureOf } from "../support/promises.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { jsonOf } from "../support/sealing.ts"

const TOKEN = "operator-token-0123456789"

const servers = {
  proxy: (token?: string) =>
    startProxy({ settings: token === undefined ? {} : { operatorToken: Redacted.make(token) } }),
  gateway: Effect.fnUntraced(function* (token = "") {
    return yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), { OPERATOR_TOKEN: token })
  }),
} as const

/** A response without its time and the path in it. */
const looksOf = ({ headers, status, text }: Answer, path: string) => ({
  status,
  headers: [...headers].filter(([name]) => name !== "date" && name !== "content-length"),
  text: text.replace(path, "").replace(/"trace_id":"[0-9a-f]+"/, ""),
})

describe.each(["proxy", "gateway"] as const)("the %s", (kind) => {
  it.live("answers strangers at /metrics as at any unknown path", () =>
    Effect.gen(function* () {
      for (const token of [undefined, TOKEN]) {
        const server = yield* servers[kind](token)
        const wrong = ["", "Bearer", `Bearer ${TOKEN}x`, `Bearer x${TOKEN}`, `Basic ${TOKEN}`, TOKEN]
        for (const method of ["GET", "HEAD", "POST", "DELETE"]) {
          const nothing = looksOf(yield* call(server, method, "/nothing"), "/nothing")
          for (const authorization of wrong) {
            const headers: Record<string, string> = authorization === "" ? {} : { authorization }
            const asked = yield* call(server, method, "/metrics", { headers })
            assert.deepStrictEqual(looksOf(asked, "/metrics"), nothing, `${method} ${authorization}`)
          }
        }
      }
    }),
  )

  it.live("shows metrics with the operator's token, but never the full /ready, on its public port", () =>
    Effect.gen(function* () {
      const server = yield* servers[kind](TOKEN)
      for (const scheme of ["Bearer", "bearer"]) {
        const answer = yield* call(server, "GET", "/metrics", { headers: { authorization: `${scheme} ${TOKEN}` } })
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("content-type")],
          [200, "text/plain; version=0.0.4; charset=utf-8"],
        )
        assert.match(answer.text, /^sealgate_ready 1$/m)
      }
      const ready = yield* call(server, "GET", "/ready", { headers: { authorization: `Bearer ${TOKEN}` } })
      assert.deepStrictEqual(ready.json, { status: "ready", providers: "none", mtls: "off" })
      assert.strictEqual(ready.headers.get("cache-control"), "no-store")
    }),
  )

  it.live("has an operator listener without other endpoints or web pages", () =>
    Effect.gen(function* () {
      const server = yield* servers[kind]()
      for (const path of ["/health", "/ready", "/metrics"]) {
        assert.strictEqual((yield* callOperator(server, path)).status, 200, path)
        assert.strictEqual((yield* call({ url: server.operatorUrl }, "HEAD", path)).status, 200, path)
      }
      assert.strictEqual(
        problemIn(yield* call({ url: server.operatorUrl }, "POST", "/ready")).code,
        "method-not-allowed",
      )
      for (const path of ["/v1/keys", "/v1/init", "/api/v1/agents", "/openapi.json", "/console", "/docs"]) {
        const { detail, status } = problemIn(yield* callOperator(server, path))
        assert.deepStrictEqual([status, detail], [404, "See /health, /ready, /metrics."], path)
      }
      const port = Number(new URL(server.operatorUrl).port)
      const rebound = yield* Effect.promise(() =>
        plainRequest({ port, path: "/metrics", headers: { host: "rebind.evil.example" } }),
      )
      assert.strictEqual(rebound.status, 421)
      const sent = yield* callOperator(server, "/metrics", { headers: { "sec-fetch-site": "cross-site" } })
      assert.strictEqual(problemIn(sent).code, "cross-origin")
    }),
  )
})

it.live("the operator listener ignores ALLOWED_HOSTS on loopback and applies it on a network", () =>
  Effect.gen(function* () {
    const ask = (operatorUrl: string, host: string) =>
      Effect.promise(async () => {
        const { port } = new URL(operatorUrl)
        return (await plainRequest({ port: Number(port), path: "/metrics", headers: { host } })).status
      })
    const allowedHosts = ["proxy.example", "*"]
    const local = yield* startProxy({ settings: { allowedHosts } })
    assert.deepStrictEqual(
      yield* Effect.all([ask(local.operatorUrl, "proxy.example"), ask(local.operatorUrl, "a.b")]),
      [421, 421],
    )
    const named = yield* startProxy({ settings: { operatorHost: "0.0.0.0", allowedHosts: ["proxy.example"] } })
    assert.strictEqual(yield* ask(named.operatorUrl, "proxy.example"), 200)
    assert.strictEqual(yield* ask(named.operatorUrl, "192.0.2.1:4001"), 200)
    assert.strictEqual(yield* ask(named.operatorUrl, "a.b"), 421)
  }),
)

it.live("the operator listener is a thousand ports above its server, and can be disabled", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    yield* Effect.promise(async () => {
      const given = { host: "127.0.0.1", logLevel: "none", attestationKeyFile: join(folder, "key.pem") } as const
      const port = await freePort()
      const running = await SealedProxy.start({ ...given, port })
      assert.strictEqual(running.operatorUrl, `http://127.0.0.1:${port + 1000}`)
      assert.strictEqual((await fetch(`${running.operatorUrl}/metrics`)).status, 200)
      await running.stop()
      assert.instanceOf(await failureOf(fetch(`${running.operatorUrl}/health`)), Error)
      const off = await SealedProxy.start({ ...given, port: 0, operatorPort: "off" })
      assert.isUndefined(off.operatorUrl)
      assert.strictEqual((await fetch(`${off.url}/ready`)).status, 200)
      await off.stop()
    })
  }),
)

it.live("the operator listener closes with its server, even during a request", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    yield* Effect.promise(async () => {
      const attestationKeyFile = join(folder, "key.pem")
      const running = await SealedProxy.start({ host: "127.0.0.1", port: 0, logLevel: "none", attestationKeyFile })
      const half = request(`${running.operatorUrl}/metrics`, { method: "POST", headers: { "content-length": 5 } })
      half.write("x")
      const cut = new Promise((resolve) => half.once("error", resolve).once("response", resolve))
      await running.stop()
      await cut
    })
  }),
)

it.live.runIf(hasOpenssl)(
  "the operator listener answers probes in plain HTTP beside a server with mutual TLS, which /ready reports",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [certificate, authority] = [makeCertificate(folder, "server"), makeCertificate(folder, "authority")]
      const client = makeCertificate(folder, "client", authority)
      const proxy = yield* startProxy({
        settings: {
          tlsCertFile: certificate.cert,
          tlsKeyFile: certificate.key,
          tlsClientCaFile: authority.cert,
          operatorHost: "0.0.0.0",
          allowedHosts: ["proxy.example"],
        },
      })
      // A probe of Kubernetes names the address of the pod.
      const headers = { host: "192.0.2.1:4001" }
      const port = Number(new URL(proxy.operatorUrl).port)
      for (const path of ["/health", "/ready"]) {
        const probed = yield* Effect.promise(() => plainRequest({ port, path, headers }))
        assert.strictEqual(probed.status, 200, path)
      }
      const ready = yield* Effect.promise(() => httpsFetch(certificate, client)(`${proxy.url}/ready`, {}))
      assert.deepInclude(yield* Effect.promise(() => jsonOf(ready)), { mtls: "on" })
    }),
)
