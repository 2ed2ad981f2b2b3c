/** Settings of the agent gateway. */
import { Redacted, Schema } from "effect"
import type { Rule } from "../../domain/problems/configuration.ts"
import { DurationText, FlagText, intText, parsed, PatienceText, RateText } from "./codecs.ts"
import { serverRules, serverSettings } from "./serverSettings.ts"
import { type Decoded, setting } from "./Setting.ts"
import { checksTokens, tokenSettings, tokenSourceRule, tokenSourceSettings } from "./tokenSettings.ts"
import { sealedRules, timeLimitRules, upstreamSettings } from "./upstreamSettings.ts"

/** Where rows are kept. A Postgres URL may hold a password, so it is a secret. */
const DatabaseLocation = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("sqlite"), filename: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("postgres"), url: Schema.Redacted(Schema.String) }),
])
type DatabaseLocation = typeof DatabaseLocation.Type

const parseDatabase = (text: string): DatabaseLocation | undefined => {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined) return { kind: "sqlite", filename: text }
  return (scheme === "postgres" || scheme === "postgresql") && URL.canParse(text)
    ? { kind: "postgres", url: Redacted.make(text) }
    : undefined
}

const DatabaseText = parsed(
  DatabaseLocation,
  parseDatabase,
  "the path of a file, or postgres://user:password@host:port/database",
)

/** What `sealgate token` needs to make one. */
export const mintSettings = {
  ...tokenSettings,
  jwtUsersAreTenants: setting(
    "JWT_USERS_ARE_TENANTS",
    FlagText,
    "0",
    "1: a token without a tenant opens what is its user's own; otherwise it is refused",
  ),
}

/** What only the gateway has. */
const ownGatewaySettings = {
  databaseUrl: setting(
    "DATABASE_URL",
    DatabaseText,
    "./.sealgate/gateway.db",
    "A file for the embedded SQLite, or a postgres:// URL that any number of gateways share",
  ),
  databaseConnections: setting(
    "DATABASE_CONNECTIONS",
    intText(2, 1000),
    "10",
    "Connections of one process to Postgres; one of them listens",
  ),
  ...mintSettings,
  ...tokenSourceSettings,
  dev: setting(
    "SEALGATE_DEV",
    FlagText,
    "0",
    "1: listen on 127.0.0.1 only, make a secret if there is none, print an admin token",
  ),
  rateLimitWrite: setting(
    "RATE_LIMIT_WRITE",
    RateText,
    "120",
    "Requests that change something per minute of a tenant, and of a client; 0 is no limit",
  ),
  rateLimitExecute: setting("RATE_LIMIT_EXECUTE", RateText, "60", "The same for new jobs"),
  maxWaitingPerTenant: setting(
    "MAX_WAITING_PER_TENANT",
    intText(0, 1_000_000),
    "128",
    "Long polls and event streams of one tenant at once; 0 is no limit",
  ),
  jobWorkers: setting("JOB_WORKERS", intText(0, 10_000), "16", "Jobs that this process works on at once; 0: none"),
  jobTenantPercent: setting(
    "JOB_TENANT_PERCENT",
    intText(1, 100),
    "75",
    "Percent of these workers that the jobs of one tenant may take; 100 is no limit",
  ),
  jobRetryFor: setting(
    "JOB_RETRY_FOR",
    PatienceText,
    "1h",
    "How long a job's step is tried again before a failure that may pass is final; 0: not at all",
  ),
  jobRetention: setting("JOB_RETENTION", DurationText, "30d", "How long ended jobs are kept"),
}

// Tasks of agents are what reasoning models are for, and nobody watches them think.
export const gatewaySettings = {
  ...serverSettings({ port: 3000, maxRequestBytes: "1MiB" }),
  ...upstreamSettings({ firstTokenTimeout: "120s", traceHeaders: "on" }),
  ...ownGatewaySettings,
}
export type GatewaySettings = Decoded<typeof gatewaySettings>

/** Without anything to check tokens with there is no gateway, except for development. */
const tokenRule: Rule<Pick<GatewaySettings, "dev" | "jwtJwksFile" | "jwtJwksUrl" | "jwtSecret">> = {
  of: ["dev", "jwtJwksFile", "jwtJwksUrl", "jwtSecret"],
  mistakes: (settings) =>
    settings.dev || checksTokens(settings)
      ? []
      : [
          {
            variable: "JWT_SECRET",
            problem:
              "is missing; set it, JWT_JWKS_URL or JWT_JWKS_FILE, so that tokens can be checked (to try things out: --dev)",
          },
        ],
}

export const gatewayRules = [...serverRules, tokenSourceRule, tokenRule, ...sealedRules, ...timeLimitRules]
