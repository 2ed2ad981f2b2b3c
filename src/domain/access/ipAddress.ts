import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** The prefix length of the IPv6 addresses that belong to one subscriber, who can choose any address below it. */
const SUBSCRIBER_PREFIX = 64

/** An IP address as `show` writes it; IPv4 mapped into IPv6 is IPv4. Other text is left as it is. */
const withAddress = (text: string, show: (address: NetAddress.IpAddress) => string): string =>
  Result.match(NetAddress.ipFromString(text), {
    onFailure: () => text,
    onSuccess: (address) => show(NetAddress.toCanonical(address)),
  })

/** The one way to write an IP address. Other text is left as it is. */
export const canonicalAddress = (text: string): string => withAddress(text, NetAddress.formatIp)

/** Whom an IP address stands for: itself, or the /64 of an IPv6 address. Other text is left as it is. */
export const subscriberOf = (text: string): string =>
  withAddress(text, (address) =>
    NetAddress.isIpv4Address(address)
      ? NetAddress.formatIp(address)
      : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, SUBSCRIBER_PREFIX)),
  )
