/** The client that a request counts for, determined in one way for all limits. */
import { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { subscriberOf } from "../../domain/ipAddress.ts"

export interface ClientIdentity {
  readonly by: "certificate" | "address"
  /** SHA-256 of the certificate in lower-case hex, or the address that it counts as. */
  readonly whose: string
}

/** A connection has one certificate for as long as it lives. */
const fingerprints = new WeakMap<TLSSocket, string>()

const fingerprintOf = (socket: TLSSocket): string | undefined => {
  const known = fingerprints.get(socket)
  if (known !== undefined) return known
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(":", "").toLowerCase()
  if (fingerprint !== undefined) fingerprints.set(socket, fingerprint)
  return fingerprint
}

/** Behind a trusted proxy the certificate on the connection is the proxy's own and says nothing about the client. */
const isForwarded = (request: HttpServerRequest.HttpServerRequest): boolean =>
  Option.getOrUndefined(request.remoteAddress) !== Option.getOrUndefined(request.peerAddress)

/**
 * The client's certificate if it showed one that was verified, else its address. Forwarded addresses were put in place
 * before, if they came from a trusted proxy.
 */
export const clientIdentity = (request: HttpServerRequest.HttpServerRequest): ClientIdentity => {
  const { source } = request
  const socket = source instanceof IncomingMessage ? source.socket : undefined
  const fingerprint =
    socket instanceof TLSSocket && socket.authorized && !isForwarded(request) ? fingerprintOf(socket) : undefined
  return fingerprint === undefined
    ? { by: "address", whose: Option.match(request.remoteAddress, { onNone: () => "unknown", onSome: subscriberOf }) }
    : { by: "certificate", whose: fingerprint }
}
