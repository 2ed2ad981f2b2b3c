import { Redacted, Schema } from "effect"
import type { Rule } from "../../domain/problems/configuration.ts"
import {
  BytesText,
  DurationText,
  FlagText,
  intText,
  isDecodable,
  LimitText,
  listText,
  NetworksText,
  parsed,
  PatienceText,
  PlainText,
  PortText,
  RateText,
  RetentionText,
  SecretKeysText,
} from "./codecs.ts"
import { postgresUrlMistake } from "./postgresUrl.ts"
import { serverRules, serverSettings } from "./serverSettings.ts"
import { type Decoded, optionalSetting, setting } from "./Setting.ts"
import { checksTokens, tokenSettings, tokenSourceRule, tokenSourceSettings } from "./tokenSettings.ts"
import { keylessRules, sealedRules, timeLimitRules, upstreamSettings } from "./upstreamSettings.ts"

/** The Postgres URL is a secret, because it may hold a password. */
const DatabaseLocation = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("sqlite"), filename: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("postgres"), url: Schema.Redacted(Schema.String) }),
])
type DatabaseLocation = typeof DatabaseLocation.Type

const parseDatabase = (text: string): DatabaseLocation | undefined => {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined) return { kind: "sqlite", filename: text }
  return (scheme === "postgres" || scheme === "postgresql") && URL.canParse(text) && isDecodable(new URL(text))
    ? { kind: "postgres", url: Redacted.make(text) }
    : undefined
}

const DatabaseText = parsed(
  DatabaseLocation,
  parseDatabase,
  "the path of a file, or postgres://user:password@host:port/database with a percent-encoded password",
)

export const mintSettings = {
  ...tokenSettings,
  jwtUsersAreTenants: setting(
    "JWT_USERS_ARE_TENANTS",
    FlagText,
    "0",
    "1: in a token without a tenant, the user is the tenant; 0: it is refused",
  ),
}

const tenantLimit = (variable: string) => `Per minute and tenant. Default: ${variable}`

const MAX_WEIGHT = 1000

const WeightsText = listText(
  Schema.Struct({ tenant: Schema.String, weight: Schema.Int }),
  (text) => {
    const [, tenant, digits] = /^([^=]+)=(\d{1,4})$/.exec(text) ?? []
    const weight = Number(digits)
    return tenant !== undefined && weight >= 1 && weight <= MAX_WEIGHT ? { tenant, weight } : undefined
  },
  `tenants, each once, with weights from 1 to ${MAX_WEIGHT}, such as acme=3,beta=2`,
  ({ tenant }) => tenant,
)

const ownGatewaySettings = {
  databaseUrl: setting("DATABASE_URL", DatabaseText, "./.sealgate/gateway.db", "SQLite file, or a postgres:// URL"),
  databaseConnections: setting(
    "DATABASE_CONNECTIONS",
    intText(2, 1000),
    "10",
    "Connections of one process to Postgres; one is for notifications",
  ),
  ...mintSettings,
  ...tokenSourceSettings,
  dev: setting("SEALGATE_DEV", FlagText, "0", "1: listen on 127.0.0.1 only, print an admin token"),
  rateLimitWrite: setting("RATE_LIMIT_WRITE", RateText, "120", "Writing requests per minute and client"),
  rateLimitExecute: setting("RATE_LIMIT_EXECUTE", RateText, "60", "New jobs and model calls per minute and client"),
  rateLimitTenantRead: optionalSetting("RATE_LIMIT_TENANT_READ", RateText, tenantLimit("RATE_LIMIT_READ")),
  rateLimitTenantWrite: optionalSetting("RATE_LIMIT_TENANT_WRITE", RateText, tenantLimit("RATE_LIMIT_WRITE")),
  rateLimitTenantExecute: optionalSetting("RATE_LIMIT_TENANT_EXECUTE", RateText, tenantLimit("RATE_LIMIT_EXECUTE")),
  maxWaitingPerTenant: setting(
    "MAX_WAITING_PER_TENANT",
    LimitText,
    "128",
    "Open long polls and event streams of one tenant",
  ),
  maxCallsPerTenant: setting(
    "MAX_CALLS_PER_TENANT",
    LimitText,
    "128",
    "Model calls of one tenant in flight in this process",
  ),
  maxAgentsPerTenant: setting("MAX_AGENTS_PER_TENANT", LimitText, "1000", "Agents of one tenant"),
  maxJobsPerTenant: setting("MAX_JOBS_PER_TENANT", LimitText, "10000", "Open jobs of one tenant"),
  cacheTtl: setting(
    "CACHE_TTL",
    PatienceText,
    "0",
    "How long answers are kept in memory for exact repetitions; 0: not at all",
  ),
  cacheMaxBytes: setting("CACHE_MAX_BYTES", BytesText, "64MiB", "Memory for kept answers"),
  cacheMaxTenantBytes: setting("CACHE_MAX_TENANT_BYTES", BytesText, "16MiB", "Memory for one tenant's kept answers"),
  jobWorkers: setting("JOB_WORKERS", intText(0, 10_000), "16", "Jobs that this process runs at once; 0: none"),
  jobTenantPercent: setting(
    "JOB_TENANT_PERCENT",
    intText(1, 100),
    "75",
    "Percent of the workers that one tenant's jobs may take",
  ),
  tenantWeights: setting(
    "TENANT_WEIGHTS",
    WeightsText,
    ",",
    "Tenants with larger shares of the workers while others wait; acme=3 gets three times the usual",
  ),
  jobRetryFor: setting(
    "JOB_RETRY_FOR",
    PatienceText,
    "1h",
    "How long a step is retried after a transient failure; 0: not at all",
  ),
  toolPrivateNetworks: setting(
    "TOOL_PRIVATE_NETWORKS",
    NetworksText,
    ",",
    "Networks that tools may reach besides public addresses, such as 10.1.0.0/16",
  ),
  mcpCommandsFile: optionalSetting(
    "MCP_COMMANDS_FILE",
    PlainText,
    "JSON file of MCP servers that this process starts for agents; read at start",
  ),
  secretsKey: optionalSetting(
    "SECRETS_KEY",
    SecretKeysText,
    "Encrypts tools' secrets: 32 random bytes in base64 (openssl rand -base64 32). To rotate: NEW,OLD",
  ),
  sealedPort: optionalSetting(
    "SEALED_PORT",
    PortText,
    "Port of a sealed proxy for the gateway's callers; the proxy's settings apply to it. Default: none",
  ),
  jobRetention: setting("JOB_RETENTION", DurationText, "30d", "How long ended jobs are kept"),
  ledgerRetention: setting(
    "LEDGER_RETENTION",
    RetentionText,
    "13 months",
    "How long the ledger keeps single calls; hourly sums stay",
  ),
}

export const gatewaySettings = {
  ...serverSettings({ port: 3000, maxRequestBytes: "1MiB" }),
  // Longer than the proxy's, because jobs use reasoning models, and no person waits for their first token.
  ...upstreamSettings({ firstTokenTimeout: "120s", traceHeaders: "on" }),
  ...ownGatewaySettings,
}
export type GatewaySettings = Decoded<typeof gatewaySettings>

/** Requires a way to check tokens, except in development. */
const tokenRule: Rule<Pick<GatewaySettings, "dev" | "jwtJwksFile" | "jwtJwksUrl" | "jwtSecret">> = {
  of: ["dev", "jwtJwksFile", "jwtJwksUrl", "jwtSecret"],
  problems: (settings) => ({
    JWT_SECRET:
      !settings.dev &&
      !checksTokens(settings) &&
      "is missing, so tokens cannot be checked; set it, JWT_JWKS_URL or JWT_JWKS_FILE (to try things out: --dev)",
  }),
}

const databaseRule: Rule<Pick<GatewaySettings, "databaseUrl">> = {
  of: ["databaseUrl"],
  problems: ({ databaseUrl }) => ({
    DATABASE_URL: databaseUrl.kind === "postgres" && postgresUrlMistake(databaseUrl.url),
  }),
}

export const gatewayRules = [
  ...serverRules,
  databaseRule,
  tokenSourceRule,
  tokenRule,
  ...sealedRules,
  ...keylessRules,
  ...timeLimitRules,
]
