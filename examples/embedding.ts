/** Both servers inside a program of your own in Effect, on free ports, and a sealed client beside them. */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { Attestation, Gateway, SealedProxy, Upstream } from "sealgate"
import { SealedClientService } from "sealgate/effect"

const folder = mkdtempSync(join(tmpdir(), "sealgate-embedding-"))
const here = { host: "127.0.0.1", port: 0 }

const urlOf = ({ address }: HttpServer.HttpServer["Service"]) =>
  `http://${NetAddress.isInetAddress(address) ? NetAddress.formatInet(address) : ""}`

const program = Effect.gen(function* () {
  // These settings override the environment.
  const proxy = yield* SealedProxy.settings({ ...here, attestationKeyFile: join(folder, "key.pem") })
  const gateway = yield* Gateway.settings({
    ...here,
    jwtSecret: Redacted.make("a secret of at least thirty-two bytes"),
    databaseUrl: { kind: "sqlite", filename: join(folder, "gateway.db") },
  })
  // Any layer that provides `Upstream` works; this is the built-in echo.
  const proxyContext = yield* Layer.build(SealedProxy.layerNoDeps(proxy).pipe(Layer.provide(Upstream.layerEcho)))
  const gatewayContext = yield* Layer.build(Gateway.layerNoDeps(gateway).pipe(Layer.provide(Upstream.layerEcho)))
  console.log(`gateway on ${yield* Effect.provideContext(Effect.map(HttpServer.HttpServer, urlOf), gatewayContext)}`)

  const { baseUrl, pin } = yield* Effect.gen(function* () {
    return { baseUrl: urlOf(yield* HttpServer.HttpServer), pin: (yield* Attestation).kid }
  }).pipe(Effect.provideContext(proxyContext))
  const answer = yield* Effect.flatMap(SealedClientService, (client) =>
    client.complete({ prompt: "Hello from the same process" }),
  ).pipe(Effect.provide(SealedClientService.layer({ baseUrl, pins: [pin] })))
  console.log(`proxy on ${baseUrl}: ${String(answer.completion.choices[0]?.message.content)}`)
}).pipe(Effect.scoped)

await Effect.runPromise(program)
console.log("both stopped")
