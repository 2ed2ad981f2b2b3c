/** Starts both servers with TLS in this process, and records their logs. */
import { type Duration, Effect, Logger } from "effect"
import type { Certificate } from "./certificates.ts"
import { databaseUrl, startGateway } from "./gateway.ts"
import { startProxy } from "./proxy.ts"

interface TlsServerOptions {
  readonly server: Certificate
  /** Authority of admitted clients; without it, every client is admitted. */
  readonly authority?: string
  readonly minVersion?: "TLSv1.2" | "TLSv1.3"
  readonly headersTimeout?: Duration.Duration
}

export interface TlsServer {
  readonly url: string
  /** The operator's listener. */
  readonly operatorUrl: string
  readonly port: number
  /** The lines logged so far, as JSON. */
  readonly logs: ReadonlyArray<string>
}

const proxy = Effect.fnUntraced(function* (options: TlsServerOptions, logger: Logger.Logger<unknown, void>) {
  const { authority, headersTimeout, minVersion, server } = options
  return yield* startProxy({
    settings: {
      tlsCertFile: server.cert,
      tlsKeyFile: server.key,
      tlsClientCaFile: authority,
      ...(minVersion === undefined ? {} : { tlsMinVersion: minVersion }),
      ...(headersTimeout === undefined ? {} : { headersTimeout }),
    },
    services: Logger.layer([logger]),
  })
})

const gateway = Effect.fnUntraced(function* (options: TlsServerOptions, logger: Logger.Logger<unknown, void>) {
  const { authority, headersTimeout, minVersion, server } = options
  const environment = {
    TLS_CERT_FILE: server.cert,
    TLS_KEY_FILE: server.key,
    TLS_CLIENT_CA_FILE: authority ?? "",
    TLS_MIN_VERSION: minVersion ?? "",
    HEADERS_TIMEOUT: headersTimeout === undefined ? "" : String(headersTimeout),
  }
  const { operatorUrl, url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), environment).pipe(
    Effect.provide(Logger.layer([logger])),
  )
  return { operatorUrl, url: url.replace(/^http:/, "https:") }
})

export const KINDS = ["proxy", "gateway"] as const
const starts = { proxy, gateway }

/** Starts one of the servers, until the scope closes. */
export const startTls = Effect.fnUntraced(function* (kind: (typeof KINDS)[number], options: TlsServerOptions) {
  const logs: Array<string> = []
  const { operatorUrl, url } = yield* starts[kind](
    options,
    Logger.make((entry) => void logs.push(Logger.formatJson.log(entry))),
  )
  return { url, operatorUrl, port: Number(new URL(url).port), logs } satisfies TlsServer
})
