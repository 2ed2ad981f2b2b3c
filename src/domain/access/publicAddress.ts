/** Which addresses requests to URLs of tenants may reach. */
import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

const networks = (...texts: ReadonlyArray<string>) => texts.map((text) => IpNetwork.fromStringUnsafe(text))

/** IPv4 networks that are not public (IANA IPv4 Special-Purpose Address Registry), multicast and reserved ones. */
const NOT_PUBLIC_4 = networks(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
)

/** Global unicast addresses (RFC 4291 §2.4). Translated IPv4 addresses (64:ff9b::/96) are not among them. */
const GLOBAL_6 = IpNetwork.fromStringUnsafe("2000::/3")

/** Parts of these that are not public: protocol assignments with Teredo, documentation, and 6to4, which embeds IPv4. */
const NOT_PUBLIC_6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

const isIn = (address: NetAddress.IpAddress, all: ReadonlyArray<IpNetwork.IpNetwork>): boolean =>
  all.some((network) => IpNetwork.contains(network, address))

const isPublic = (address: NetAddress.IpAddress): boolean =>
  NetAddress.isIpv4Address(address)
    ? !isIn(address, NOT_PUBLIC_4)
    : IpNetwork.contains(GLOBAL_6, address) && !isIn(address, NOT_PUBLIC_6)

/**
 * Whether a request with this scheme may connect to `address`: https to public addresses, and any scheme to the networks
 * in `allowed`. IPv4 mapped into IPv6 counts as IPv4; other text than an address is refused.
 */
export const mayConnect = (protocol: string, address: string, allowed: ReadonlyArray<IpNetwork.IpNetwork>): boolean => {
  const parsed = NetAddress.ipFromString(address)
  if (Result.isFailure(parsed)) return false
  const canonical = NetAddress.toCanonical(parsed.success)
  return isIn(canonical, allowed) || (protocol === "https:" && isPublic(canonical))
}
