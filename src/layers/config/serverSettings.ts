/** Settings that both servers have. */
import {
  BytesText,
  FlagText,
  intText,
  literalText,
  NetworksText,
  PlainText,
  PortText,
  RedisUrlText,
  TimerText,
} from "./codecs.ts"
import { optionalSetting, type Rule, setting } from "./Setting.ts"
import { telemetrySettings } from "./telemetrySettings.ts"

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "none"] as const

export const serverSettings = (port: number) => ({
  port: setting("PORT", PortText, String(port), "Port to listen on; 0 takes a free one"),
  host: setting("HOST", PlainText, "0.0.0.0", "Address to listen on"),
  maxRequestBytes: setting("MAX_REQUEST_BYTES", BytesText, "1MiB", "Largest request body"),
  maxBodyMemory: setting(
    "MAX_BODY_MEMORY",
    BytesText,
    "256MiB",
    "Memory for all request bodies that are being received; beyond it, the one that takes longest is refused",
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
  shutdownGrace: setting("SHUTDOWN_GRACE", TimerText, "20s", "How long requests in flight may take at shutdown"),
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

export interface TlsFileSettings {
  readonly tlsCertFile: string | undefined
  readonly tlsKeyFile: string | undefined
  readonly tlsClientCaFile: string | undefined
}

/** Half a pair of certificate and key would mean plain HTTP where HTTPS was wished for. */
export const tlsRule: Rule<TlsFileSettings> = {
  of: ["tlsCertFile", "tlsKeyFile", "tlsClientCaFile"],
  mistakes: ({ tlsCertFile, tlsClientCaFile, tlsKeyFile }) =>
    [tlsCertFile, tlsKeyFile, tlsClientCaFile].every((file) => file === undefined)
      ? []
      : [
          { variable: "TLS_CERT_FILE", file: tlsCertFile },
          { variable: "TLS_KEY_FILE", file: tlsKeyFile },
        ]
          .filter(({ file }) => file === undefined)
          .map(({ variable }) => ({ variable, problem: "is missing; TLS needs a certificate and its key" })),
}
