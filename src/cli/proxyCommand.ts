import { Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { OperatorDoor } from "../layers/OperatorDoor.ts"
import { type ProxySettings, SealedProxy } from "../layers/Proxy.ts"
import { urlOf } from "../server/serverUrl.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Attestation } from "../services/sealing/Attestation.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { tellProviders } from "./providersTaken.ts"
import { logLevelFlag } from "./flags.ts"
import { SERVER_EXITS, withGuide } from "./help/Guide.ts"
import { layerLastResort } from "./run.ts"

/** Says what an operator and their clients need to know once the proxy listens. */
const announce = Effect.fnUntraced(function* (settings: ProxySettings) {
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
  yield* tellProviders(proxySettings)
  const operatorUrl = yield* OperatorDoor
  if (operatorUrl !== undefined) yield* Effect.logInfo(`for the operator: ${operatorUrl} (/ready, /metrics)`)
  if (settings.console) {
    const { mode } = yield* yield* TlsStatus
    yield* Effect.logInfo(`console: ${urlOf(server.address, mode !== "off")}/console#pin=${attestation.kid}`)
  }
})

type LogLevel = ProxySettings["logLevel"]

const serve = Effect.fnUntraced(function* (logLevel: Option.Option<LogLevel>) {
  const configured = yield* SealedProxy.settings()
  const settings = { ...configured, logLevel: Option.getOrElse(logLevel, () => configured.logLevel) }
  const beside = Layer.merge(Layer.effectDiscard(announce(settings)), layerLastResort(settings.shutdownGrace))
  return yield* Layer.launch(SealedProxy.layerWith(settings, beside))
})

export const proxyCommand = Command.make("proxy", { logLevel: logLevelFlag("LOG_LEVEL") }, ({ logLevel }) =>
  serve(logLevel),
).pipe(
  Command.withShortDescription("Run the sealed proxy"),
  Command.withDescription(
    `Runs the sealed proxy, for operators: it opens sealed prompts only to call a model provider, seals every answer, and
keeps nothing. Without a provider's key it serves a built-in echo, good to try things out. Environment variables set
everything.

At start it logs its pin, which clients need, and the address of a page on which to try it in a browser (/console).`,
  ),
  Command.withExamples([
    { command: "sealgate proxy", description: "Try it: the echo, on port 3001 of this machine's addresses" },
    { command: "PROVIDER1_API_KEY=… sealgate proxy", description: "Serve from a provider" },
    {
      command: "PROVIDER1_API_KEY=… PROVIDER1_BASE_URL=http://gpu:8000/v1 \\\n    sealgate proxy",
      description: "Serve from a server of your own that speaks OpenAI's API",
    },
    {
      command: "PORT=8443 TLS_CERT_FILE=cert.pem TLS_KEY_FILE=key.pem \\\n    sealgate proxy",
      description: "Speak HTTPS",
    },
  ]),
  withGuide({
    settings: proxySettings,
    exits: SERVER_EXITS,
    next:
      "Chat: `sealgate chat --proxy http://localhost:3001 --pin <pin>`. Before going live: `sealgate doctor`. " +
      "This help is long: `sealgate proxy --help | less`.",
  }),
)
