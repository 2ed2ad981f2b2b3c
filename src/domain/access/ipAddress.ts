import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** Prefix length of one subscriber's IPv6 network, in which the subscriber can choose any address. */
const SUBSCRIBER_PREFIX = 64

/** Formats an IP address with `show`; IPv4 mapped into IPv6 counts as IPv4. Returns other text unchanged. */
const withAddress = (text: string, show: (address: NetAddress.IpAddress) => string): string =>
  Result.match(NetAddress.ipFromString(text), {
    onFailure: () => text,
    onSuccess: (address) => show(NetAddress.toCanonical(address)),
  })

/** The canonical form of an IP address. Returns other text unchanged. */
export const canonicalAddress = (text: string): string => withAddress(text, NetAddress.formatIp)

/** The subscriber of an IP address: an IPv4 address, or the /64 of an IPv6 address. Returns other text unchanged. */
export const subscriberOf = (text: string): string =>
  withAddress(text, (address) =>
    NetAddress.isIpv4Address(address)
      ? NetAddress.formatIp(address)
      : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, SUBSCRIBER_PREFIX)),
  )
