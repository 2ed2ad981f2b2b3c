/** With mutual TLS, clients are counted by their certificates, wherever they connect from. */
import { readFileSync } from "node:fs"
import { createServer } from "node:https"
import { setTimeout } from "node:timers/promises"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { clientIdentity } from "../../../src/http/shared/ClientIdentity.ts"
import { NetworksText } from "../../../src/layers/config/codecs.ts"
import { urlOf } from "../../../src/server/serverUrl.ts"
import {
  type Certificate,
  fingerprintOf,
  hasOpenssl,
  httpsFetch,
  makeCertificate,
  type TlsOptions,
} from "../../support/certificates.ts"
import { gatedUpstream } from "../../support/gateway.ts"
import { startProxy, temporaryFolder } from "../../support/proxy.ts"
import { INIT } from "../../support/sealing.ts"

/** An address of this machine, other than the one that clients come from by default. */
const ELSEWHERE: TlsOptions = { localAddress: "127.0.0.2" }
const TRUSTED = "127.0.0.1"

const twoClients = Effect.map(temporaryFolder, (folder) => {
  const authority = makeCertificate(folder, "authority")
  const server = makeCertificate(folder, "server")
  return {
    folder,
    server,
    authority,
    tls: { tlsCertFile: server.cert, tlsKeyFile: server.key, tlsClientCaFile: authority.cert },
    one: makeCertificate(folder, "one", authority),
    other: makeCertificate(folder, "other", authority),
  }
})

const JSON_TYPE = { "content-type": "application/json" }

const statusOf = async (fetch: ReturnType<typeof httpsFetch>, url: string, init: RequestInit): Promise<number> => {
  const response = await fetch(url, init)
  await response.text()
  return response.status
}

describe.runIf(hasOpenssl)("the identity of a client with a certificate", () => {
  it.live("is its certificate: separate behind one address, and the same from two addresses", () =>
    Effect.gen(function* () {
      const { one, other, server, tls } = yield* twoClients
      const proxy = yield* startProxy({
        settings: {
          ...tls,
          rateLimitInit: 2,
        },
      })
      yield* Effect.promise(async () => {
        const begin = (client: Certificate, options?: TlsOptions) =>
          statusOf(httpsFetch(server, client, options), `${proxy.url}/v1/init`, {
            method: "POST",
            body: JSON.stringify(INIT),
            // The header counts from trusted proxies only.
            headers: { ...JSON_TYPE, "x-forwarded-for": "192.0.2.1" },
          })
        assert.deepStrictEqual(
          [await begin(one), await begin(one, ELSEWHERE), await begin(one), await begin(one, ELSEWHERE)],
          [200, 200, 429, 429],
        )
        assert.deepStrictEqual([await begin(other), await begin(other), await begin(other)], [200, 200, 429])
        const { headers } = await httpsFetch(server, other)(`${proxy.url}/v1/init`, { method: "POST" })
        assert.strictEqual(headers.get("ratelimit-policy"), '"init-per-certificate";q=2;w=60')
      })
    }),
  )

  it.live("is its certificate for requests in flight, too", () =>
    Effect.gen(function* () {
      const { one, other, server, tls } = yield* twoClients
      const gated = yield* gatedUpstream
      const proxy = yield* startProxy({
        settings: {
          ...tls,
          maxConcurrentPerClient: 1,
        },
        upstream: gated.layer,
      })
      yield* Effect.promise(async () => {
        // Of an unknown session: refused with 410, unless an earlier check fails.
        const envelope = JSON.stringify({ session_id: "A".repeat(22), enc: "A".repeat(43), ciphertext: "AAAA" })
        const ask = (client: Certificate, options?: TlsOptions) =>
          statusOf(httpsFetch(server, client, options), `${proxy.url}/v1/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: envelope,
          })
        const inFlight = proxy.client({ fetch: httpsFetch(server, one) }).complete({ prompt: "hello" })
        while (gated.entered() < 1) await setTimeout(1)
        assert.deepStrictEqual([await ask(one), await ask(one, ELSEWHERE), await ask(other)], [429, 429, 410])
        Effect.runSync(gated.open)
        assert.strictEqual((await inFlight).completion.choices[0]?.message.content, "hello")
        assert.strictEqual(await ask(one), 410)
      })
    }),
  )

  it.live("is the forwarded address if the certificate is a trusted proxy's", () =>
    Effect.gen(function* () {
      const { one, server, tls } = yield* twoClients
      const proxy = yield* startProxy({
        settings: {
          ...tls,
          rateLimitInit: 1,
          trustedProxies: yield* Schema.decodeEffect(NetworksText)(TRUSTED),
        },
      })
      yield* Effect.promise(async () => {
        const begin = (forwarded: string | undefined, options?: TlsOptions) =>
          statusOf(httpsFetch(server, one, options), `${proxy.url}/v1/init`, {
            method: "POST",
            body: JSON.stringify(INIT),
            headers: { ...JSON_TYPE, ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }) },
          })
        assert.deepStrictEqual([await begin("192.0.2.1"), await begin("192.0.2.1")], [200, 429])
        assert.deepStrictEqual([await begin("192.0.2.2"), await begin("192.0.2.2")], [200, 429])
        // An untrusted client counts by its certificate, whatever address it claims.
        assert.deepStrictEqual([await begin("192.0.2.3", ELSEWHERE), await begin("192.0.2.4", ELSEWHERE)], [200, 429])
      })
    }),
  )

  it.live("is its address if no trusted authority signed its certificate", () =>
    Effect.gen(function* () {
      const { authority, folder, one, server } = yield* twoClients
      const stranger = makeCertificate(folder, "stranger", makeCertificate(folder, "another-authority"))
      const options = {
        cert: readFileSync(server.cert),
        key: readFileSync(server.key),
        ca: readFileSync(authority.cert),
      }
      // Lets everybody in, so that it is the identity alone that tells them apart.
      const listening = createServer({ ...options, requestCert: true, rejectUnauthorized: false })
      const context = yield* Layer.build(
        HttpRouter.serve(
          HttpRouter.add("GET", "/", (request) =>
            Effect.sync(() => HttpServerResponse.jsonUnsafe(clientIdentity(request))),
          ),
          { disableLogger: true, disableListenLog: true },
        ).pipe(Layer.provideMerge(NodeHttpServer.layer(() => listening, { port: 0, host: "127.0.0.1" }))),
      )
      const { address } = Context.get(context, HttpServer.HttpServer)
      yield* Effect.promise(async () => {
        const url = urlOf(address, true)
        const identify = async (client?: Certificate) => (await httpsFetch(server, client)(url, {})).json()
        const whose = fingerprintOf(one).replaceAll(":", "").toLowerCase()
        assert.deepStrictEqual(await identify(one), { by: "certificate", whose })
        const nobody = { by: "address", whose: "127.0.0.1" }
        assert.deepStrictEqual([await identify(stranger), await identify()], [nobody, nobody])
      })
    }),
  )
})
