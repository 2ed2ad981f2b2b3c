/** Settings that both servers have. */
import { Redacted, Schema } from "effect"
import {
  BytesText,
  FlagText,
  HostsText,
  intText,
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

/** What `Authorization` can carry (RFC 6750 §2.1), and nobody guesses. */
const OperatorTokenText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (/^[\w.~+/-]{16,}=*$/.test(text) ? Redacted.make(text) : undefined),
  "at least 16 characters, such as `openssl rand -base64 24` prints",
)

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "none"] as const

/** What differs between the servers. */
interface OwnDefaults {
  readonly port: number
  readonly maxRequestBytes: string
}

export const serverSettings = ({ maxRequestBytes, port }: OwnDefaults) => ({
  port: setting("PORT", PortText, String(port), "Port to listen on; 0 takes a free one"),
  host: setting("HOST", ListenText, "0.0.0.0", "Address to listen on"),
  allowedHosts: optionalSetting(
    "ALLOWED_HOSTS",
    HostsText,
    "Names by which the server may be asked (Host), beside loopback ones; * is any. Default: those of this machine while HOST is loopback, else any",
  ),
  allowedOrigins: setting(
    "ALLOWED_ORIGINS",
    OriginsText,
    ",",
    "Origins of web pages, beside its own, that may use the server from a browser",
  ),
  operatorHost: setting(
    "OPERATOR_HOST",
    ListenText,
    "127.0.0.1",
    "Address of the operator's listener: /metrics and all of /ready, over plain HTTP",
  ),
  operatorPort: optionalSetting(
    "OPERATOR_PORT",
    OffOrPortText,
    "Port of the operator's listener; off: there is none. Default: PORT + 1000, or a free one if PORT is 0",
  ),
  operatorToken: optionalSetting(
    "OPERATOR_TOKEN",
    OperatorTokenText,
    "Bearer token with which /metrics can be asked for on PORT too; without one it is not there",
  ),
  maxRequestBytes: setting(
    "MAX_REQUEST_BYTES",
    BytesText,
    maxRequestBytes,
    "Largest request body as it arrives; sealed, a request is up to half as large again",
  ),
  maxBodyMemory: setting(
    "MAX_BODY_MEMORY",
    BytesText,
    "256MiB",
    "Memory for all request bodies that are being received; beyond it, whoever holds most of it is refused. The proxy has as much again for requests that wait for their provider",
  ),
  maxAnswerMemory: setting(
    "MAX_ANSWER_MEMORY",
    BytesText,
    "256MiB",
    "Memory for all answers that wait for their readers; beyond it, whoever reads least is cut",
  ),
  maxConnections: setting("MAX_CONNECTIONS", intText(1, 1_000_000), "10000", "Connections at once; more are refused"),
  maxConnectionsPerClient: setting(
    "MAX_CONNECTIONS_PER_CLIENT",
    intText(1, 1_000_000),
    "256",
    "Connections at once from one address; trusted proxies are exempt",
  ),
  headersTimeout: setting("HEADERS_TIMEOUT", TimerText, "10s", "How long a request's headers may take"),
  requestTimeout: setting("REQUEST_TIMEOUT", TimerText, "60s", "How long a whole request, body included, may take"),
  writeTimeout: setting(
    "WRITE_TIMEOUT",
    TimerText,
    "60s",
    "How long an answer may wait for its reader without moving; then the connection is cut",
  ),
  writeMinRate: setting(
    "WRITE_MIN_RATE",
    BytesText,
    "1KiB",
    "Bytes per second that a reader must take on average while an answer waits for it; slower ones are cut too",
  ),
  keepAliveTimeout: setting("KEEP_ALIVE_TIMEOUT", TimerText, "75s", "How long an idle connection is kept"),
  rateLimitRead: setting(
    "RATE_LIMIT_READ",
    RateText,
    "600",
    "Reading requests per minute and client, and at the gateway per tenant; 0 is no limit",
  ),
  rateLimitProbes: setting(
    "RATE_LIMIT_PROBES",
    RateText,
    "600",
    "Requests for /health and /ready per minute and client, and as many to the operator's listener, counted by each process; 0 is no limit",
  ),
  trustedProxies: setting(
    "TRUSTED_PROXIES",
    NetworksText,
    ",",
    "Addresses or networks whose X-Forwarded-For is believed; none: the header is ignored",
  ),
  tlsCertFile: optionalSetting("TLS_CERT_FILE", PlainText, "Certificate chain in PEM; with it the server speaks HTTPS"),
  tlsKeyFile: optionalSetting("TLS_KEY_FILE", PlainText, "Private key of the certificate in PEM"),
  tlsClientCaFile: optionalSetting(
    "TLS_CLIENT_CA_FILE",
    PlainText,
    "CA certificates in PEM; with them every client must show a certificate (mutual TLS)",
  ),
  tlsMinVersion: setting(
    "TLS_MIN_VERSION",
    literalText("TLSv1.2", "TLSv1.3"),
    "TLSv1.2",
    "Oldest TLS version accepted",
  ),
  shutdownGrace: setting(
    "SHUTDOWN_GRACE",
    TimerText,
    "20s",
    "How long requests and model calls in flight may take at shutdown",
  ),
  console: setting("CONSOLE", FlagText, "on", "Whether the page at /console is served"),
  logLevel: setting("LOG_LEVEL", literalText(...LOG_LEVELS), "info", "Least severe level that is logged"),
  logFormat: optionalSetting(
    "LOG_FORMAT",
    literalText("pretty", "json"),
    "How lines are logged; default pretty on a terminal, else json",
  ),
  ...telemetrySettings,
  redisUrl: optionalSetting(
    "REDIS_URL",
    RedisUrlText,
    "Redis that shares rate limits and circuits between processes; default: each process has its own",
  ),
})

export interface BodySettings {
  readonly maxRequestBytes: number
  readonly maxBodyMemory: number
}

/** Else the largest body could not arrive, whoever sent it. */
const memoryRule: Rule<BodySettings> = {
  of: ["maxRequestBytes", "maxBodyMemory"],
  mistakes: ({ maxBodyMemory, maxRequestBytes }) =>
    maxBodyMemory < maxRequestBytes
      ? [
          {
            variable: "MAX_BODY_MEMORY",
            problem: "is less than MAX_REQUEST_BYTES; the largest body has to fit into it",
          },
        ]
      : [],
}

export interface OperatorAddress {
  readonly port: number
  readonly operatorPort: number | "off" | undefined
}

const OPERATOR_OFFSET = 1000
const LAST_PORT = 65_535

/** Where the operator's listener is to be. */
export const operatorPortOf = ({ operatorPort, port }: OperatorAddress): number | "off" =>
  operatorPort ?? (port === 0 ? 0 : port + OPERATOR_OFFSET)

const operatorRule: Rule<OperatorAddress> = {
  of: ["port", "operatorPort"],
  mistakes: (address) => {
    const port = operatorPortOf(address)
    return port !== "off" && port > LAST_PORT
      ? [{ variable: "OPERATOR_PORT", problem: `is missing; PORT + ${OPERATOR_OFFSET} would be above 65535` }]
      : []
  },
}

/** What the settings of both servers have to be together. */
export const serverRules = [memoryRule, operatorRule, tlsRule]

export type ServerSettings = Decoded<ReturnType<typeof serverSettings>>
