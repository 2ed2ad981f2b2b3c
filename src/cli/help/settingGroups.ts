import type { Setting } from "../../layers/config/Setting.ts"
import type { Row } from "./layout.ts"

interface SettingGroup {
  readonly title: string
  readonly rows: ReadonlyArray<Row>
}

/** A variable belongs to the first group that matches. The last group matches all. */
const SUBJECTS: ReadonlyArray<readonly [title: string, variables: RegExp]> = [
  ["Model providers", /^PROVIDER/],
  [
    "Address",
    /^(PORT|HOST|OPERATOR_HOST|OPERATOR_PORT|OPERATOR_TOKEN|ALLOWED_HOSTS|ALLOWED_ORIGINS|CONSOLE|TRUSTED_PROXIES|SEALED_PORT)$/,
  ],
  ["Callers", /^(SEALGATE_DEV$|CALLER_KEYS_FILE$|JWT_)/],
  ["Storage and jobs", /^(CACHE_|DATABASE_|JOB_|LEDGER_|SECRETS_)/],
  ["Identity and sessions", /^(ATTESTATION_|SESSION_|ROUTING_TAG$)/],
  ["HTTPS", /^TLS_/],
  ["Log", /^LOG_/],
  [
    "Limits per client, caller and tenant; 0 is no limit",
    /^(RATE_LIMIT_|MAX_CONCURRENT_PER_CLIENT$|MAX_\w+_PER_(CALLER|TENANT)$|REDIS_URL$)/,
  ],
  ["Time limits, retries and failover between providers", /^UPSTREAM_/],
  ["Limits of the server", /^(?!OTEL_)/],
  ["OpenTelemetry", /^/],
]

/** Settings to list before all subjects. */
const IMPORTANT = [
  "PORT",
  "HOST",
  "PROVIDER1_API_KEY",
  "PROVIDER1_BASE_URL",
  "PROVIDER1_MODEL",
  "PROVIDER_FROM_ENV",
  "ATTESTATION_KEY_FILE",
  "CALLER_KEYS_FILE",
  "DATABASE_URL",
  "JWT_SECRET",
  "JWT_JWKS_URL",
  "ALLOWED_HOSTS",
  "TLS_CERT_FILE",
  "TLS_KEY_FILE",
  "LOG_LEVEL",
]

const rowOf = ({ aliases, fallback, summary, variable }: Setting<unknown>): Row => ({
  name: variable,
  text:
    summary +
    (aliases.length === 0 ? "" : `; with PROVIDER_FROM_ENV also ${aliases.join(" or ")}`) +
    (fallback === undefined || fallback === "," ? "" : ` (default ${fallback})`),
})

/** Returns the groups, the important settings first. Omits empty groups. */
export const settingGroups = (settings: Readonly<Record<string, Setting<unknown>>>): ReadonlyArray<SettingGroup> => {
  const all = Object.values(settings)
  const important = IMPORTANT.flatMap((name) => all.filter(({ variable }) => variable === name))
  const groups = Map.groupBy(
    all.filter((each) => !important.includes(each)),
    ({ variable }) => SUBJECTS.findIndex(([, variables]) => variables.test(variable)),
  )
  const members = [important, ...SUBJECTS.map((_, i) => groups.get(i) ?? [])]
  return ["Most important", ...SUBJECTS.map(([title]) => title)]
    .map((title, i) => ({ title, rows: (members[i] ?? []).map(rowOf) }))
    .filter(({ rows }) => rows.length > 0)
}
