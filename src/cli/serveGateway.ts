/** `sealgate gateway`, loaded on demand because it imports the whole server. */
import { Console, Duration, Effect, Layer, Option, Redacted } from "effect"
import { ADMIN_ROLE } from "../domain/access/roles.ts"
import { type GatewaySettings, gatewaySettings } from "../layers/config/gatewaySettings.ts"
import { Gateway } from "../layers/Gateway.ts"
import { findSettings } from "../layers/config/Setting.ts"
import { DEV_HOST, forDevelopment } from "../layers/GatewayAccess.ts"
import { mintToken } from "../services/access/mintToken.ts"
import { ownUrl } from "../server/serverUrl.ts"
import { announceServer } from "./announceServer.ts"
import { unusable } from "./CommandFailed.ts"
import { givenOf, type ServerFlags } from "./flags.ts"
import { layerWithoutPretenuring } from "./pretenuring.ts"
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

const ONLY_HERE = `--dev listens on ${DEV_HOST} only`

/** Hosts of the command line that `--dev` does not contradict. */
const HERE: ReadonlySet<string> = new Set([DEV_HOST, "localhost"])

/** Names the addresses that `--dev` replaces: they may be set for all servers of a machine. */
const reportReplaced = Effect.gen(function* () {
  const { host, operatorHost } = gatewaySettings
  const replaced = (yield* findSettings([host, operatorHost])).flatMap(({ from, text = "" }) =>
    from === undefined || HERE.has(text) ? [] : [from.variable],
  )
  if (replaced.length > 0) yield* Effect.logInfo(`set, but not used: ${replaced.join(", ")}; ${ONLY_HERE}`)
})

const announce = Effect.fnUntraced(function* (settings: GatewaySettings) {
  const url = yield* ownUrl
  yield* Effect.logInfo(`agent gateway listening on ${url}`)
  if (settings.dev) yield* reportReplaced
  yield* announceServer(gatewaySettings, {
    providersAnd: `jobs on ${settings.databaseUrl.kind}`,
    console: settings.console ? "/console" : undefined,
  })
  yield* printToken(settings, url)
})

export const serveGateway = Effect.fnUntraced(function* ({ dev, ...flags }: ServerFlags & { readonly dev: boolean }) {
  const given = yield* Gateway.settings({ ...givenOf(flags), ...(dev ? { dev } : {}) })
  if (given.dev && Option.exists(flags.host, (host) => !HERE.has(host))) {
    return yield* unusable(
      `${ONLY_HERE}, because it prints an admin token. Leave out --host, or leave out --dev and set JWT_SECRET.`,
    )
  }
  const settings = forDevelopment(given)
  const extras = Layer.mergeAll(
    Layer.effectDiscard(announce(settings)),
    layerLastResort(settings.shutdownGrace),
    layerWithoutPretenuring,
  )
  return yield* Layer.launch(Gateway.layerWith(settings, extras))
})
