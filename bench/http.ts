/** The proxy over HTTP beside a plain server that answers the same thing unsealed, both in this process. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { SealedClient } from "../src/client/SealedClient.ts"
import { SealedProxy } from "../src/layers/Proxy.ts"
import { layerUpstream } from "../src/layers/Providers.ts"
import { Attestation } from "../src/services/sealing/Attestation.ts"
import { compare, report } from "./measure.ts"

const env = {
  PORT: "0",
  HOST: "127.0.0.1",
  ATTESTATION_KEY_FILE: join(mkdtempSync(join(tmpdir(), "sealgate-bench-")), "key.pem"),
  RATE_LIMIT_INIT: "0",
  RATE_LIMIT_COMPLETIONS: "0",
  SESSION_MAX_REQUESTS: "65536",
}

const plainServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => (body += String(chunk)))
      request.on("end", () => {
        const { messages } = JSON.parse(body) as { readonly messages: ReadonlyArray<{ readonly content: string }> }
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify({ choices: [{ message: { content: messages.at(-1)?.content } }] }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return server
  }),
  (server) => Effect.sync(() => server.close()),
)

export const benchHttp = Effect.gen(function* () {
  const settings = yield* SealedProxy.settings()
  const context = yield* Layer.build(
    SealedProxy.layerNoDeps(settings).pipe(Layer.provideMerge(layerUpstream(settings))),
  )
  const server = yield* HttpServer.HttpServer.pipe(Effect.provideContext(context))
  const { kid } = yield* Attestation.pipe(Effect.provideContext(context))
  const plain = yield* plainServer
  const address = NetAddress.isInetAddress(server.address) ? NetAddress.formatInet(server.address) : ""
  const client = new SealedClient({ baseUrl: `http://${address}`, pins: [kid] })
  const plainUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`
  const messages = [{ role: "user" as const, content: "The quick brown fox jumps over the lazy dog." }]

  const sealed = async (calls: number) => {
    for (let i = 0; i < calls; i++) await client.complete({ messages })
  }
  const unsealed = async (calls: number) => {
    for (let i = 0; i < calls; i++) {
      const response = await fetch(plainUrl, { method: "POST", body: JSON.stringify({ messages }) })
      await response.json()
    }
  }
  const comparison = yield* Effect.promise(() =>
    compare("a completion, client and proxy in one process", sealed, unsealed, { calls: 150 }),
  )
  report("Round trip", "plain HTTP, no seal", [comparison])
}).pipe(Effect.scoped, Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })))
