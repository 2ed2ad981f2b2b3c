import { NetAddress } from "effect/net"

/** The URL at which a server that listens can be reached from this machine. */
export const urlOf = (address: NetAddress.SocketAddress, tls: boolean): string => {
  if (!NetAddress.isInetAddress(address)) return "a socket"
  const text = NetAddress.formatInet(address).replace(/^(0\.0\.0\.0|\[::\])(?=:)/, "localhost")
  return `${tls ? "https" : "http"}://${text}`
}
