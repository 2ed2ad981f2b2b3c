import { Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"

/** Prefix of an IPv6 address that belongs to one subscriber: everything below it is theirs to choose. */
const SUBSCRIBER_PREFIX = 64

/** Whom an IP address stands for: itself, or the /64 of an IPv6 address. Other text is left as it is. */
export const subscriberOf = (text: string): string =>
  Result.match(NetAddress.ipFromString(text), {
    onFailure: () => text,
    onSuccess: (parsed) => {
      const address = NetAddress.toCanonical(parsed)
      return NetAddress.isIpv4Address(address)
        ? NetAddress.formatIp(address)
        : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, SUBSCRIBER_PREFIX))
    },
  })

/**
 * Where a request comes from, as the address that it stands for. Forwarded addresses were put in place before, if they came from a trusted proxy.
 */
export const clientAddress = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.match(request.remoteAddress, { onNone: () => "unknown", onSome: subscriberOf })
