import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { layerLogging } from "../layers/Logging.ts"
import { layerProxy, proxySettingsFromEnvironment } from "../layers/Proxy.ts"
import { layerTelemetry } from "../layers/Telemetry.ts"
import { layerUpstream } from "../layers/Upstream.ts"
import { Attestation } from "../services/sealing/Attestation.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { describeSettings } from "./describeSettings.ts"

/** Says what an operator and their clients need to know once the proxy listens. */
const announce = Effect.gen(function* () {
  const server = yield* HttpServer.HttpServer
  const attestation = yield* Attestation
  const upstream = yield* Upstream
  const vault = yield* KeyVault
  const providers = (yield* upstream.status).map(({ model, provider }) => `${provider} (${model})`).join(", ")
  const address = NetAddress.isInetAddress(server.address) ? NetAddress.formatInet(server.address) : "a socket"
  yield* Effect.logInfo(`sealed proxy listening on ${address}`)
  yield* Effect.logInfo(
    `identity to pin: ${attestation.kid}${attestation.created ? " (new: its key was made just now)" : ""}`,
  )
  yield* Effect.logInfo(`providers: ${providers}; keys in ${vault.kind} memory`)
})

const serve = Effect.gen(function* () {
  const settings = yield* proxySettingsFromEnvironment
  const app = Layer.effectDiscard(announce).pipe(
    Layer.provideMerge(layerProxy(settings)),
    Layer.provideMerge(layerUpstream(settings)),
    Layer.provide([layerLogging(settings), layerTelemetry(settings)]),
  )
  return yield* Layer.launch(app)
})

export const proxyCommand = Command.make("proxy", {}, () => serve).pipe(
  Command.withShortDescription("Run the sealed proxy"),
  Command.withDescription(
    `Runs the sealed proxy: opens sealed prompts only to call a model provider, seals every answer, keeps nothing.
Without a provider key it serves a built-in echo. Everything is set by environment variables:

${describeSettings(proxySettings)}`,
  ),
  Command.withExamples([
    { command: "sealgate proxy", description: "Listen on port 3001, with the echo" },
    { command: "PORT=8443 TLS_CERT_FILE=cert.pem TLS_KEY_FILE=key.pem sealgate proxy", description: "Speak HTTPS" },
    { command: "PROVIDER1_API_KEY=… sealgate proxy", description: "Serve from an OpenAI-compatible provider" },
  ]),
)
