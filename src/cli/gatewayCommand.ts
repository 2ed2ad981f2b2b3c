import { Console, Duration, Effect, Layer, type Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import { ADMIN_ROLE } from "../domain/identity.ts"
import { type GatewaySettings, gatewaySettings } from "../layers/config/gatewaySettings.ts"
import { Gateway } from "../layers/Gateway.ts"
import { forDevelopment } from "../layers/GatewayAccess.ts"
import { OperatorListener } from "../layers/OperatorListener.ts"
import { urlOf } from "../server/serverUrl.ts"
import { mintToken } from "../services/access/mintToken.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { reportProviders } from "./reportProviders.ts"
import { givenOf, hostFlag, logLevelFlag, portFlag } from "./flags.ts"
import { SERVER_EXITS, withGuide } from "./help/Guide.ts"
import { layerLastResort } from "./runUntilSignal.ts"

const DEV_TOKEN_TTL = Duration.hours(24)

/** Prints what one needs to make the first request. To the terminal, not to the log, which is kept. */
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
An admin token for 24 hours, good until the gateway stops:

export SEALGATE_TOKEN=${Redacted.value(token)}
curl -s ${url}/api/v1/agents -H "authorization: Bearer $SEALGATE_TOKEN" -H 'content-type: application/json' -d '{"name":"first"}'
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
  const operatorUrl = yield* OperatorListener
  if (operatorUrl !== undefined) yield* Effect.logInfo(`for the operator: ${operatorUrl} (/ready, /metrics)`)
  if (settings.console) yield* Effect.logInfo(`console: ${url}/console`)
  yield* Effect.logInfo(`providers: ${providers}; jobs on ${settings.databaseUrl.kind}`)
  yield* reportProviders(gatewaySettings)
  yield* printToken(settings, url)
})

interface Flags {
  readonly dev: boolean
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly logLevel: Option.Option<GatewaySettings["logLevel"]>
}

const serve = Effect.fnUntraced(function* ({ dev, ...flags }: Flags) {
  const settings = forDevelopment(yield* Gateway.settings({ ...givenOf(flags), ...(dev ? { dev } : {}) }))
  const beside = Layer.merge(Layer.effectDiscard(announce(settings)), layerLastResort(settings.shutdownGrace))
  return yield* Layer.launch(Gateway.layerWith(settings, beside))
})

export const gatewayCommand = Command.make(
  "gateway",
  {
    dev: Flag.Boolean("dev").pipe(
      Flag.withDescription("To try it: listen on 127.0.0.1 only, make a secret if there is none, print an admin token"),
      Flag.withDefault(false),
    ),
    port: portFlag("PORT, else 3000"),
    host: hostFlag("HOST, else 0.0.0.0"),
    logLevel: logLevelFlag("LOG_LEVEL"),
  },
  serve,
).pipe(
  Command.withShortDescription("Run the agent gateway"),
  Command.withDescription(
    `Runs the agent gateway, for operators: an HTTP API that gives agents tasks, as jobs that survive restarts. Every
answer is either argued over by a second model (adversarial) or compared with those of others (verified). Without
a provider's key it serves a built-in echo, good to try things out. Settings say the rest.

At start it logs the address of a page on which to try it in a browser (/console). The API is described at
/openapi.json.`,
  ),
  Command.withExamples([
    { command: "sealgate gateway --dev", description: "Try it: this machine only, with a ready token" },
    {
      command: "JWT_SECRET=… sealgate gateway",
      description: "Listen on port 3000, keep jobs in a file; `sealgate token` makes tokens",
    },
    {
      command: "DATABASE_URL=postgres://… JWT_JWKS_URL=https://…/jwks.json \\\n    sealgate gateway",
      description: "One of several gateways on one Postgres",
    },
  ]),
  withGuide({
    settings: gatewaySettings,
    first: [
      "PORT",
      "HOST",
      "PROVIDER1_API_KEY",
      "PROVIDER1_BASE_URL",
      "PROVIDER1_MODEL",
      "PROVIDER_FROM_ENV",
      "DATABASE_URL",
      "JWT_SECRET",
      "JWT_JWKS_URL",
      "ALLOWED_HOSTS",
      "TLS_CERT_FILE",
      "LOG_LEVEL",
    ],
    exits: SERVER_EXITS,
    next:
      'With --dev: copy the `export SEALGATE_TOKEN=…` line that it prints into another terminal, then `sealgate run "Is 391 a ' +
      'prime?"`. Without: `sealgate token` makes tokens. This help is long: `sealgate gateway --help | less`.',
  }),
)
