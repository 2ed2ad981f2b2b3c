/** Groups a server's settings by subject. */
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
    /^(PORT|HOST|OPERATOR_HOST|OPERATOR_PORT|OPERATOR_TOKEN|ALLOWED_HOSTS|ALLOWED_ORIGINS|CONSOLE|TRUSTED_PROXIES)$/,
  ],
  ["Callers", /^(SEALGATE_DEV$|CALLER_KEYS_FILE$|JWT_)/],
  ["Storage and jobs", /^(DATABASE_|JOB_)/],
  ["Identity and sessions", /^(ATTESTATION_|SESSION_|ROUTING_TAG$)/],
  ["HTTPS", /^TLS_/],
  ["Log", /^LOG_/],
  ["Limits per client", /^(RATE_LIMIT_|MAX_CONCURRENT_PER_(CLIENT|CALLER)$|MAX_WAITING_PER_TENANT$|REDIS_URL$)/],
  ["Time limits, retries and failover between providers", /^UPSTREAM_/],
  ["Limits of the server", /^(?!OTEL_)/],
  ["OpenTelemetry", /^/],
]

/** Index of the group before all subjects. */
const FIRST = -1

const rowOf = ({ aliases, fallback, summary, variable }: Setting<unknown>): Row => ({
  name: variable,
  text:
    summary +
    (aliases.length === 0 ? "" : `; with PROVIDER_FROM_ENV also ${aliases.join(" or ")}`) +
    (fallback === undefined || fallback === "," ? "" : ` (default ${fallback})`),
})

/** Returns the groups, with the `first` variables in a group before all others. Omits empty groups. */
export const settingGroups = (
  settings: Readonly<Record<string, Setting<unknown>>>,
  first: ReadonlyArray<string> = [],
): ReadonlyArray<SettingGroup> => {
  const groups = Map.groupBy(Object.values(settings), ({ variable }) =>
    first.includes(variable) ? FIRST : SUBJECTS.findIndex(([, variables]) => variables.test(variable)),
  )
  const group = (title: string, members: ReadonlyArray<Setting<unknown>> | undefined) =>
    members === undefined ? [] : [{ title, rows: members.map(rowOf) }]
  return [
    ...group(
      "Most important",
      groups.get(FIRST)?.toSorted((a, b) => first.indexOf(a.variable) - first.indexOf(b.variable)),
    ),
    ...SUBJECTS.flatMap(([title], i) => group(title, groups.get(i))),
  ]
}
