/** The client of a request, the same for all limits. */
import { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { subscriberOf } from "../../domain/access/ipAddress.ts"

export interface ClientIdentity {
  readonly by: "certificate" | "address"
  /** SHA-256 of the certificate in lower-case hex, or the address as {@link subscriberOf} groups it. */
  readonly whose: string
}

const fingerprintOf = (socket: TLSSocket): string | undefined =>
  socket.getPeerX509Certificate()?.fingerprint256.replaceAll(":", "").toLowerCase()

const ofAddress = (address: Option.Option<string>): ClientIdentity => ({
  by: "address",
  whose: Option.match(address, { onNone: () => "unknown", onSome: subscriberOf }),
})

/** Cached, because a connection keeps its address and its certificate. */
const identities = new WeakMap<Socket, ClientIdentity>()

/** Behind a trusted proxy, the connection's certificate is the proxy's. */
const isForwarded = (request: HttpServerRequest.HttpServerRequest): boolean =>
  Option.getOrUndefined(request.remoteAddress) !== Option.getOrUndefined(request.peerAddress)

/** The client's verified certificate, else its address. Edge has already applied `X-Forwarded-For` of trusted proxies. */
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
