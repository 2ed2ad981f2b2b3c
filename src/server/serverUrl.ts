import { Effect } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"

/** The URL of a listening server, from this machine. */
export const urlOf = (address: NetAddress.SocketAddress, tls: boolean): string => {
  if (!NetAddress.isInetAddress(address)) return "a socket"
  const text = NetAddress.formatInet(address).replace(/^(0\.0\.0\.0|\[::\])(?=:)/, "localhost")
  return `${tls ? "https" : "http"}://${text}`
}

export const ownUrl = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const { mode } = yield* yield* TlsStatus
  return urlOf(address, mode !== "off")
})
