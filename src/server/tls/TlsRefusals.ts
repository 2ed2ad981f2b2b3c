/** Counts failed TLS handshakes by reason, and logs few enough lines that strangers cannot fill the log. */
import type { Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { Duration, Effect, FiberMap } from "effect"
import { canonicalAddress } from "../../domain/access/ipAddress.ts"
import { counter } from "../../services/metrics.ts"
import { transportOf } from "./TlsConnections.ts"

const refused = counter("sealgate_tls_clients_refused_total")

const REASONS = {
  "no-certificate": "the client showed no certificate",
  "unknown-authority":
    "no authority in TLS_CLIENT_CA_FILE signed the client's certificate, or its intermediates are missing",
  expired: "the client's certificate has expired",
  "not-yet-valid": "the client's certificate is not valid yet",
  "bad-certificate": "the client's certificate is not valid",
  "server-distrusted": "the client does not trust this server's certificate",
  "no-common-protocol": "the client offers no TLS version or cipher that is accepted",
  "not-tls": "the client does not speak TLS",
  timeout: "the client did not finish its handshake in time",
  disconnected: "the client went away during its handshake",
  other: "the handshake failed",
} as const
type Reason = keyof typeof REASONS

/** OpenSSL's verification results (X509_V_ERR_*) and Node's error codes; the more specific ones come first. */
const PATTERNS: ReadonlyArray<readonly [pattern: RegExp, reason: Reason]> = [
  [/^CERT_HAS_EXPIRED$/, "expired"],
  [/^CERT_NOT_YET_VALID$/, "not-yet-valid"],
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_FAILURE$)/, "unknown-authority"],
  [/PEER_DID_NOT_RETURN_A_CERTIFICATE/, "no-certificate"],
  [/ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(EXPIRED|UNKNOWN|REVOKED))/, "server-distrusted"],
  [
    /UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|NO_SHARED_CIPHER|NO_SHARED_GROUP|ALERT_PROTOCOL_VERSION/,
    "no-common-protocol",
  ],
  [/HTTP_REQUEST|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTPS_PROXY_REQUEST/, "not-tls"],
  [/HANDSHAKE_TIMEOUT/, "timeout"],
  [/^(ECONNRESET|EPIPE)$/, "disconnected"],
]

/** The reason for a failed handshake. `verification` is the problem of the client's certificate, if it sent one. */
export const reasonOf = (code: string | undefined, verification: string | undefined): Reason => {
  const cause = verification ?? code ?? ""
  const found = PATTERNS.find(([pattern]) => pattern.test(cause))
  return found?.[1] ?? (verification === undefined ? "other" : "bad-certificate")
}

/** Shortest time between two log lines with the same reason. */
const QUIET = Duration.minutes(1)

export interface TlsRefusal {
  readonly reason: Reason
  /** Error code, which an operator can look up. */
  readonly code: string
  readonly address: string
}

/** Logs the first refusal with a reason at once, and those of the next minute together in one line. */
export const makeRefusals = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const run = yield* FiberMap.makeRuntime<never, Reason>()
  const unlogged = new Map<Reason, { readonly count: number; readonly last: TlsRefusal }>()

  const logPending = Effect.fnUntraced(function* (reason: Reason) {
    const pending = unlogged.get(reason)
    if (pending === undefined) return
    unlogged.delete(reason)
    // Load balancers and scanners open and close connections; that needs no action.
    const log = reason === "disconnected" ? Effect.logDebug : Effect.logWarning
    yield* log(`TLS client refused: ${REASONS[reason]}`).pipe(
      Effect.annotateLogs({
        reason,
        count: pending.count,
        code: pending.last.code,
        address: canonicalAddress(pending.last.address),
      }),
    )
    yield* Effect.sleep(QUIET)
  })

  return (refusal: TlsRefusal): void => {
    const { reason } = refusal
    refused({ reason }).updateUnsafe(1, context)
    unlogged.set(reason, { count: (unlogged.get(reason)?.count ?? 0) + 1, last: refusal })
    run(reason, Effect.repeat(logPending(reason), { while: () => unlogged.has(reason) }), { onlyIfMissing: true })
  }
})

/** Reports every client that `server` refuses, and closes its connection. */
export const reportRefusals = Effect.fnUntraced(function* (server: HttpsServer) {
  const report = yield* makeRefusals
  const addresses = new WeakMap<Socket, string>()
  const opened = (transport: Socket) => void addresses.set(transport, transport.remoteAddress ?? "unknown")
  const failed = (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // At run time Node holds a code here; its types say an `Error`.
    const verification: unknown = socket.authorizationError ?? undefined
    const code = typeof verification === "string" ? verification : undefined
    const transport = transportOf(socket)
    report({
      reason: reasonOf(error.code, code),
      code: code ?? error.code ?? "unknown",
      address: (transport === undefined ? undefined : addresses.get(transport)) ?? "unknown",
    })
    // Node itself leaves connections open whose handshake did not finish in time.
    socket.destroy()
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => server.on("connection", opened).on("tlsClientError", failed)),
    () => Effect.sync(() => server.off("connection", opened).off("tlsClientError", failed)),
  )
})
