import { Console, Duration, Effect, Layer, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import { ADMIN_ROLE } from "../domain/identity.ts"
import { gatewaySettings } from "../layers/config/gatewaySettings.ts"
import { gatewaySettingsFromEnvironment, layerGateway, urlOf } from "../layers/Gateway.ts"
import { forDevelopment, type GatewaySettings } from "../layers/GatewayAccess.ts"
import { layerLogging } from "../layers/Logging.ts"
import { layerTelemetry } from "../layers/Telemetry.ts"
import { layerUpstream } from "../layers/Upstream.ts"
import { mintToken } from "../services/access/mintToken.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { describeSettings } from "./describeSettings.ts"

const DEV_TOKEN_TTL = Duration.hours(24)

/** Prints what one needs to make the first request. To the terminal, not to the log, which is kept. */
const printToken = Effect.fnUntraced(function* (settings: GatewaySettings, url: string) {
  if (!settings.dev || settings.jwtSecret === undefined) return
  const token = yield* mintToken({
    secret: settings.jwtSecret,
    issuer: settings.jwtIssuer,
    audience: settings.jwtAudience,
    subject: "dev",
    roles: [ADMIN_ROLE],
    ttl: DEV_TOKEN_TTL,
  })
  yield* Console.log(`
An admin token for 24 hours, good until the gateway stops:

export TOKEN=${Redacted.value(token)}
curl -s ${url}/api/v1/agents -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"name":"first"}'
`)
})

/** Says what an operator needs to know once the gateway listens. */
const announce = Effect.fnUntraced(function* (settings: GatewaySettings) {
  const { address } = yield* HttpServer.HttpServer
  const { mode } = yield* yield* TlsStatus
  const upstream = yield* Upstream
  const providers = (yield* upstream.status).map(({ model, provider }) => `${provider} (${model})`).join(", ")
  const url = urlOf(address, mode !== "off")
  yield* Effect.logInfo(`agent gateway listening on ${url}`)
  yield* Effect.logInfo(`providers: ${providers}; jobs on ${settings.databaseUrl.kind}`)
  yield* printToken(settings, url)
})

const serve = Effect.fnUntraced(function* (dev: boolean) {
  const configured = yield* gatewaySettingsFromEnvironment
  const settings = forDevelopment({ ...configured, dev: configured.dev || dev })
  const app = Layer.effectDiscard(announce(settings)).pipe(
    Layer.provideMerge(layerGateway(settings)),
    Layer.provideMerge(layerUpstream(settings)),
    Layer.provide([layerLogging(settings), layerTelemetry(settings)]),
  )
  return yield* Layer.launch(app)
})

export const gatewayCommand = Command.make(
  "gateway",
  {
    dev: Flag.Boolean("dev").pipe(
      Flag.withDescription("Listen on 127.0.0.1 only, make a secret if there is none, print an admin token"),
      Flag.withDefault(false),
    ),
  },
  ({ dev }) => serve(dev),
).pipe(
  Command.withShortDescription("Run the agent gateway"),
  Command.withDescription(
    `Runs the agent gateway: agents over HTTP, their tasks as durable jobs whose answers are argued over or verified.
Without a provider key it serves a built-in echo. Everything is set by environment variables:

${describeSettings(gatewaySettings)}`,
  ),
  Command.withExamples([
    { command: "sealgate gateway --dev", description: "Try it: this machine only, with a ready token" },
    { command: "JWT_SECRET=… sealgate gateway", description: "Listen on port 3000, jobs in a file" },
    {
      command: "DATABASE_URL=postgres://… JWT_JWKS_URL=https://…/jwks.json sealgate gateway",
      description: "One of several gateways on one Postgres",
    },
  ]),
)
