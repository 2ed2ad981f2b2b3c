import { Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"

/** Prefix of an IPv6 address that belongs to one subscriber: everything below it is theirs to choose. */
const SUBSCRIBER_PREFIX = 64

/**
 * Whom a request is counted for: the IPv4 address or the IPv6 /64 it came from. Forwarded addresses were put in place
 * before, if they came from a trusted proxy.
 */
export const clientAddress = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.match(request.remoteAddress, {
    onNone: () => "unknown",
    onSome: (text) =>
      Result.match(NetAddress.ipFromString(text), {
        onFailure: () => text,
        onSuccess: (parsed) => {
          const address = NetAddress.toCanonical(parsed)
          return NetAddress.isIpv4Address(address)
            ? NetAddress.formatIp(address)
            : IpNetwork.format(IpNetwork.makeUnsafe(address, SUBSCRIBER_PREFIX))
        },
      }),
  })
