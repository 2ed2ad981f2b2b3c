import { Effect, Layer, type Option } from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { OperatorListener } from "../layers/OperatorListener.ts"
import { type ProxySettings, SealedProxy } from "../layers/Proxy.ts"
import { urlOf } from "../server/serverUrl.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Attestation } from "../services/sealing/Attestation.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { reportProviders } from "./reportProviders.ts"
import { givenOf, hostFlag, logLevelFlag, portFlag } from "./flags.ts"
import { SERVER_EXITS, withGuide } from "./help/Guide.ts"
import { layerLastResort } from "./runUntilSignal.ts"

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
  yield* reportProviders(proxySettings)
  const operatorUrl = yield* OperatorListener
  if (operatorUrl !== undefined) yield* Effect.logInfo(`for the operator: ${operatorUrl} (/ready, /metrics)`)
  if (settings.console) {
    const { mode } = yield* yield* TlsStatus
    yield* Effect.logInfo(`console: ${urlOf(server.address, mode !== "off")}/console#pin=${attestation.kid}`)
  }
})

interface Flags {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly logLevel: Option.Option<ProxySettings["logLevel"]>
}

const serve = Effect.fnUntraced(function* (flags: Flags) {
  const settings = yield* SealedProxy.settings(givenOf(flags))
  const beside = Layer.merge(Layer.effectDiscard(announce(settings)), layerLastResort(settings.shutdownGrace))
  return yield* Layer.launch(SealedProxy.layerWith(settings, beside))
})

export const proxyCommand = Command.make(
  "proxy",
  { port: portFlag("PORT, else 3001"), host: hostFlag("HOST, else 0.0.0.0"), logLevel: logLevelFlag("LOG_LEVEL") },
  serve,
).pipe(
  Command.withShortDescription("Run the sealed proxy"),
  Command.withDescription(
    `Runs the sealed proxy, for operators: it opens sealed prompts only to call a model provider, seals every answer, and
keeps nothing. Without a provider's key it serves a built-in echo, good to try things out. Settings say the rest.

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
    first: [
      "PORT",
      "HOST",
      "PROVIDER1_API_KEY",
      "PROVIDER1_BASE_URL",
      "PROVIDER1_MODEL",
      "PROVIDER_FROM_ENV",
      "ATTESTATION_KEY_FILE",
      "CALLER_KEYS_FILE",
      "ALLOWED_HOSTS",
      "TLS_CERT_FILE",
      "TLS_KEY_FILE",
      "LOG_LEVEL",
    ],
    exits: SERVER_EXITS,
    next:
      "Chat: `sealgate chat --proxy http://localhost:3001 --pin <pin>`. Before going live: `sealgate doctor`. " +
      "This help is long: `sealgate proxy --help | less`.",
  }),
)
