/** Parameters of a Postgres URL: those that the driver reads, and whether they ask for TLS. */
import { Redacted } from "effect"
import { isLoopback } from "../../domain/access/hostName.ts"

/** From `parseUrl` of `@effect/sql-pg`, which ignores all others. */
const PARAMETERS = [
  "application_name",
  "connect_timeout",
  "dbname",
  "host",
  "options",
  "password",
  "port",
  "sslmode",
  "user",
]
const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

/** The mistake in the URL's parameters; `false` if there is none. A name that may be part of a password is not quoted. */
export const postgresUrlMistake = (url: Redacted.Redacted): string | false => {
  const { searchParams } = new URL(Redacted.value(url))
  // The driver has no SCRAM-SHA-256-PLUS.
  if (searchParams.getAll("channel_binding").some((binding) => binding !== "disable")) {
    return "asks for channel binding, which is not supported; remove channel_binding (sslmode=require verifies the certificate)"
  }
  const names = [...searchParams.keys()].filter((name) => name !== "channel_binding")
  const ignored = names.filter((name) => !PARAMETERS.includes(name))
  if (ignored.length > 0) {
    const quoted = names.every((name) => /^[a-z_]+$/.test(name)) ? `: ${ignored.join(", ")}` : ""
    return `has a parameter that would be ignored${quoted}; known are ${PARAMETERS.join(", ")}; for certificates set NODE_EXTRA_CA_CERTS`
  }
  if (searchParams.getAll("sslmode").every((mode) => SSL_MODES.includes(mode))) return false
  return `has an unknown sslmode; use one of ${SSL_MODES.join(", ")}`
}

/** With these, the driver connects without TLS if the server offers none. */
const UNDECIDED: ReadonlySet<string> = new Set(["allow", "prefer"])

/** The host to which the URL connects over a network without deciding on TLS; `undefined` if there is none. */
export const hostWithoutTls = (url: Redacted.Redacted): string | undefined => {
  const { hostname, searchParams } = new URL(Redacted.value(url))
  const mode = searchParams.getAll("sslmode").at(-1)
  if (mode !== undefined && !UNDECIDED.has(mode)) return undefined
  const named = /^\[.*\]$/.test(hostname) ? hostname.slice(1, -1) : decodeURIComponent(hostname)
  const host = searchParams.getAll("host").at(-1) ?? named
  // An empty host is localhost, and a path is the folder of a socket.
  return host === "" || host.startsWith("/") || isLoopback(host) ? undefined : host
}
