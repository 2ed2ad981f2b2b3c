/** The client that a request counts for, determined in one way for all limits. */
import { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { subscriberOf } from "../../domain/access/ipAddress.ts"

export interface ClientIdentity {
  readonly by: "certificate" | "address"
  /** SHA-256 of the certificate in lower-case hex, or the address that it counts as. */
  readonly whose: string
}

const fingerprintOf = (socket: TLSSocket): string | undefined =>
  socket.getPeerX509Certificate()?.fingerprint256.replaceAll(":", "").toLowerCase()

const ofAddress = (address: Option.Option<string>): ClientIdentity => ({
  by: "address",
  whose: Option.match(address, { onNone: () => "unknown", onSome: subscriberOf }),
})

/** A connection has one address and one certificate for as long as it lives. */
const identities = new WeakMap<Socket, ClientIdentity>()

/** Behind a trusted proxy the certificate on the connection is the proxy's own and says nothing about the client. */
const isForwarded = (request: HttpServerRequest.HttpServerRequest): boolean =>
  Option.getOrUndefined(request.remoteAddress) !== Option.getOrUndefined(request.peerAddress)

/**
 * The client's certificate if it showed one that was verified, else its address. Forwarded addresses were put in place
 * before, if they came from a trusted proxy.
 */
export const clientIdentity = (request: HttpServerRequest.HttpServerRequest): ClientIdentity => {
  const { source } = request
  if (!(source instanceof IncomingMessage) || isForwarded(request)) return ofAddress(request.remoteAddress)
  const { socket } = source
  const known = identities.get(socket)
  if (known !== undefined) return known
  const fingerprint = socket instanceof TLSSocket && socket.authorized ? fingerprintOf(socket) : undefined
  const identity: ClientIdentity =
    fingerprint === undefined ? ofAddress(request.remoteAddress) : { by: "certificate", whose: fingerprint }
  identities.set(socket, identity)
  return identity
}
