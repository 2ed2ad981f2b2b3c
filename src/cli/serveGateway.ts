/** `sealgate gateway`, loaded on demand because it imports the whole server. */
import { Console, Duration, Effect, Layer, type Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { ADMIN_ROLE } from "../domain/access/identity.ts"
import { type GatewaySettings, gatewaySettings } from "../layers/config/gatewaySettings.ts"
import { Gateway } from "../layers/Gateway.ts"
import { forDevelopment } from "../layers/GatewayAccess.ts"
import { OperatorListener } from "../layers/OperatorListener.ts"
import { urlOf } from "../server/serverUrl.ts"
import { mintToken } from "../services/access/mintToken.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { reportProviders } from "./reportProviders.ts"
import { givenOf } from "./flags.ts"
import { layerLastResort } from "./runUntilSignal.ts"

const DEV_TOKEN_TTL = Duration.hours(24)

/** Prints a token and a first request: to the terminal, because logs are kept. */
const printToken = Effect.fnUntraced(function* (settings: GatewaySettings, url: string) {
  if (!settings.dev || settings.jwtSecret === undefined) return
  const token = yield* mintToken({
    secret: settings.jwtSecret,
    issuer: settings.jwtIssuer,
    audience: settings.jwtAudience,
    subject: "dev",
    tenant: "dev",
    roles: [ADMIN_ROLE],
    ttl: DEV_TOKEN_TTL,
  })
  yield* Console.log(`
An admin token, valid for 24 hours and until the gateway stops:

export SEALGATE_TOKEN=${Redacted.value(token)}
curl -s ${url}/api/v1/agents -H "authorization: Bearer $SEALGATE_TOKEN" -H 'content-type: application/json' -d '{"name":"first"}'
`)
})

/** Logs addresses, providers and database once the gateway listens. */
const announce = Effect.fnUntraced(function* (settings: GatewaySettings) {
  const { address } = yield* HttpServer.HttpServer
  const { mode } = yield* yield* TlsStatus
  const upstream = yield* Upstream
  const providers = (yield* upstream.status).map(({ model, provider }) => `${provider} (${model})`).join(", ")
  const url = urlOf(address, mode !== "off")
  yield* Effect.logInfo(`agent gateway listening on ${url}`)
  const operatorUrl = yield* OperatorListener
  if (operatorUrl !== undefined) yield* Effect.logInfo(`for the operator: ${operatorUrl} (/ready, /metrics)`)
  if (settings.console) yield* Effect.logInfo(`console: ${url}/console`)
  yield* Effect.logInfo(`providers: ${providers}; jobs on ${settings.databaseUrl.kind}`)
  yield* reportProviders(gatewaySettings)
  yield* printToken(settings, url)
})

interface GatewayFlags {
  readonly dev: boolean
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly logLevel: Option.Option<GatewaySettings["logLevel"]>
}

export const serveGateway = Effect.fnUntraced(function* ({ dev, ...flags }: GatewayFlags) {
  const settings = forDevelopment(yield* Gateway.settings({ ...givenOf(flags), ...(dev ? { dev } : {}) }))
  const beside = Layer.merge(Layer.effectDiscard(announce(settings)), layerLastResort(settings.shutdownGrace))
  return yield* Layer.launch(Gateway.layerWith(settings, beside))
})
