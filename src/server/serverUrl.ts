import { NetAddress } from "effect/net"

/** The URL of a listening server, from this machine. */
export const urlOf = (address: NetAddress.SocketAddress, tls: boolean): string => {
  if (!NetAddress.isInetAddress(address)) return "a socket"
  const text = NetAddress.formatInet(address).replace(/^(0\.0\.0\.0|\[::\])(?=:)/, "localhost")
  return `${tls ? "https" : "http"}://${text}`
}
