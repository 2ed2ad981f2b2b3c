/** Settings that both servers have. */
import { Redacted, Schema } from "effect"
import {
  BytesText,
  CountText,
  FlagText,
  HostsText,
  ListenText,
  literalText,
  NetworksText,
  OffOrPortText,
  OriginsText,
  parsed,
  PlainText,
  PortText,
  RateText,
  RedisUrlText,
  TimerText,
} from "./codecs.ts"
import type { Rule } from "../../domain/problems/configuration.ts"
import { tlsRule } from "../../server/tls/Tls.ts"
import { type Decoded, optionalSetting, setting } from "./Setting.ts"
import { telemetrySettings } from "./telemetrySettings.ts"

/** Characters that `Authorization` can carry (RFC 6750 §2.1), and enough of them to resist guessing. */
const OperatorTokenText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (/^[\w.~+/-]{16,}=*$/.test(text) ? Redacted.make(text) : undefined),
  "at least 16 characters, such as `openssl rand -base64 24` prints",
)

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "none"] as const

interface ServerDefaults {
  readonly port: number
  readonly maxRequestBytes: string
}

const addressSettings = {
  host: setting("HOST", ListenText, "0.0.0.0", "Address to listen on"),
  allowedHosts: optionalSetting(
    "ALLOWED_HOSTS",
    HostsText,
    "Host names that requests may use, besides loopback ones; * is any. Default: this machine's if HOST is loopback, else any",
  ),
  allowedOrigins: setting(
    "ALLOWED_ORIGINS",
    OriginsText,
    ",",
    "Origins of web pages that may use the server, besides its own",
  ),
}

const operatorSettings = {
  operatorHost: setting(
    "OPERATOR_HOST",
    ListenText,
    "127.0.0.1",
    "Address of the operator's listener: /metrics and the full /ready",
  ),
  operatorPort: optionalSetting(
    "OPERATOR_PORT",
    OffOrPortText,
    "Its port, or off. Default: PORT + 1000, or a free one if PORT is 0",
  ),
  operatorToken: optionalSetting("OPERATOR_TOKEN", OperatorTokenText, "Bearer token that opens /metrics on PORT too"),
}

const memorySettings = {
  maxBodyMemory: setting(
    "MAX_BODY_MEMORY",
    BytesText,
    "256MiB",
    "Memory for bodies being received; the client that holds most is refused first. Requests that wait for a provider may use as much again; one client or tenant, half",
  ),
  maxAnswerMemory: setting(
    "MAX_ANSWER_MEMORY",
    BytesText,
    "256MiB",
    "Memory for answers that wait for their readers; beyond it, the slowest reader is disconnected",
  ),
}

const connectionSettings = {
  maxConnections: setting("MAX_CONNECTIONS", CountText, "10000", "Open connections; more are refused"),
  maxConnectionsPerClient: setting(
    "MAX_CONNECTIONS_PER_CLIENT",
    CountText,
    "256",
    "Open connections from one address; TRUSTED_PROXIES are exempt",
  ),
  headersTimeout: setting("HEADERS_TIMEOUT", TimerText, "10s", "Time limit for a request's headers"),
  requestTimeout: setting("REQUEST_TIMEOUT", TimerText, "60s", "Time limit for a whole request, body included"),
  writeTimeout: setting(
    "WRITE_TIMEOUT",
    TimerText,
    "60s",
    "How long an answer may wait without progress; then the connection is cut",
  ),
  writeMinRate: setting(
    "WRITE_MIN_RATE",
    BytesText,
    "1KiB",
    "Average bytes per second that a reader must take while an answer waits",
  ),
  keepAliveTimeout: setting("KEEP_ALIVE_TIMEOUT", TimerText, "75s", "How long an idle connection is kept"),
}

const clientLimitSettings = {
  rateLimitRead: setting("RATE_LIMIT_READ", RateText, "600", "Reading requests per minute and client"),
  rateLimitProbes: setting(
    "RATE_LIMIT_PROBES",
    RateText,
    "600",
    "Requests for /health and /ready per minute and client",
  ),
  trustedProxies: setting(
    "TRUSTED_PROXIES",
    NetworksText,
    ",",
    "Addresses or networks whose X-Forwarded-For is trusted",
  ),
}

const tlsSettings = {
  tlsCertFile: optionalSetting("TLS_CERT_FILE", PlainText, "Certificate chain in PEM; enables HTTPS"),
  tlsKeyFile: optionalSetting("TLS_KEY_FILE", PlainText, "Private key of the certificate in PEM"),
  tlsClientCaFile: optionalSetting(
    "TLS_CLIENT_CA_FILE",
    PlainText,
    "CA certificates in PEM; every client must then present a certificate (mutual TLS)",
  ),
  tlsMinVersion: setting(
    "TLS_MIN_VERSION",
    literalText("TLSv1.2", "TLSv1.3"),
    "TLSv1.2",
    "Oldest TLS version accepted",
  ),
}

const logSettings = {
  logLevel: setting("LOG_LEVEL", literalText(...LOG_LEVELS), "info", "Least severe level that is logged"),
  logFormat: optionalSetting(
    "LOG_FORMAT",
    literalText("pretty", "json"),
    "Format of log lines. Default: pretty on a terminal, else json",
  ),
}

export const serverSettings = ({ maxRequestBytes, port }: ServerDefaults) => ({
  port: setting("PORT", PortText, String(port), "Port to listen on; 0 takes a free one"),
  ...addressSettings,
  ...operatorSettings,
  maxRequestBytes: setting(
    "MAX_REQUEST_BYTES",
    BytesText,
    maxRequestBytes,
    "Largest request body, also decompressed; sealing adds up to half",
  ),
  ...memorySettings,
  ...connectionSettings,
  ...clientLimitSettings,
  ...tlsSettings,
  shutdownGrace: setting("SHUTDOWN_GRACE", TimerText, "20s", "Time for requests and model calls in flight at shutdown"),
  console: setting("CONSOLE", FlagText, "on", "Whether the page at /console is served"),
  ...logSettings,
  ...telemetrySettings,
  redisUrl: optionalSetting("REDIS_URL", RedisUrlText, "Redis that shares rate limits and circuits between processes"),
})

/** Must be at least `MAX_REQUEST_BYTES`, or one maximal body never fits. */
const memoryRule: Rule<{ readonly maxRequestBytes: number; readonly maxBodyMemory: number }> = {
  of: ["maxRequestBytes", "maxBodyMemory"],
  problems: ({ maxBodyMemory, maxRequestBytes }) => ({
    MAX_BODY_MEMORY:
      maxBodyMemory < maxRequestBytes && "is less than MAX_REQUEST_BYTES; one body of that size must fit, so raise it",
  }),
}

export interface OperatorAddress {
  readonly port: number
  readonly operatorPort: number | "off" | undefined
}

/** How far above a server's port its operator's listener is by default. */
export const OPERATOR_OFFSET = 1000
const LAST_PORT = 65_535

export const operatorPortOf = ({ operatorPort, port }: OperatorAddress): number | "off" =>
  operatorPort ?? (port === 0 ? 0 : port + OPERATOR_OFFSET)

const operatorRule: Rule<OperatorAddress> = {
  of: ["port", "operatorPort"],
  problems: (address) => {
    const port = operatorPortOf(address)
    return {
      OPERATOR_PORT: port !== "off" && port > LAST_PORT && `is missing; PORT + ${OPERATOR_OFFSET} would be above 65535`,
    }
  },
}

export const serverRules = [memoryRule, operatorRule, tlsRule]

export type ServerSettings = Decoded<ReturnType<typeof serverSettings>>
