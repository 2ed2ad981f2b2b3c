/**
 * Refuses requests for other host names. With DNS rebinding, a web page can make a browser call this server under the
 * page's name and read the answers, but the browser's `Host` then has that name. IP addresses are accepted, because they
 * cannot be registered as names.
 */
import { IncomingMessage } from "node:http"
import { hostname, networkInterfaces } from "node:os"
import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { Malformed, Misdirected } from "../../api/problems.ts"
import { hostName, isLoopback } from "../../domain/access/hostName.ts"
import { canonicalAddress } from "../../domain/access/ipAddress.ts"

export interface HostSettings {
  /** Listen address. */
  readonly host: string
  /** Further host names; `*` accepts any. If unset, a server beyond loopback accepts any name too. */
  readonly allowedHosts: ReadonlyArray<string> | undefined
}

export interface HostRules {
  readonly anyName: boolean
  readonly anyAddress: boolean
  readonly names: ReadonlySet<string>
}

const ANY = "*"

/** Lower-cases a name and drops its final dot; puts an address into canonical form. */
const canonical = (name: string): string => canonicalAddress(name.toLowerCase().replace(/\.$/, ""))

const isAddress = (name: string): boolean => Result.isSuccess(NetAddress.ipFromString(name))

const ofThisMachine = (): ReadonlyArray<string> => [
  hostname(),
  ...Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []),
]

/** A server on loopback accepts its machine's names and addresses. Any other accepts `allowedHosts` and all IP addresses. */
export const hostRules = ({ allowedHosts, host }: HostSettings): HostRules => {
  const isLocal = isLoopback(host)
  return {
    anyName: allowedHosts === undefined ? !isLocal : allowedHosts.includes(ANY),
    anyAddress: !isLocal,
    names: new Set([...(allowedHosts ?? []), ...(isLocal ? ofThisMachine() : [])].map(canonical)),
  }
}

/** `Host` for http (RFC 9112 §3.2, RFC 9110 §4.2.1): a name or an address, and an optional port. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{0,5})?$/i

/** All `Host` headers; Node's `headers` has only the first. */
const hostsSent = ({ headers, source }: HttpServerRequest.HttpServerRequest): ReadonlyArray<string> => {
  if (source instanceof IncomingMessage) {
    return source.rawHeaders.filter((_, i, lines) => i % 2 === 1 && lines[i - 1]?.toLowerCase() === "host")
  }
  return headers["host"] === undefined ? [] : [headers["host"]]
}

/** HTTP/1.0 does not require `Host`. */
const needsHost = ({ source }: HttpServerRequest.HttpServerRequest): boolean =>
  !(source instanceof IncomingMessage) || source.httpVersion !== "1.0"

const badHost = () => new Malformed({ detail: "Send one Host header, with a name or an address and perhaps a port." })

/** `setting` names the variable for further names. Pass the request as received: clients can send `X-Forwarded-Host`. */
export const hostRefusal = (
  request: HttpServerRequest.HttpServerRequest,
  rules: HostRules,
  setting: string,
): Malformed | Misdirected | undefined => {
  const [sent, ...more] = hostsSent(request)
  if (sent === undefined && !needsHost(request)) return undefined
  // A host in the request target replaces the header (RFC 9112 §3.2.2), which must still be valid.
  const host = request.headers["host"] ?? ""
  if (sent === undefined || more.length > 0 || ![sent, host].every((text) => HOST.test(text))) return badHost()
  const name = canonical(hostName(host))
  const isAllowed = rules.anyName || isLoopback(name) || rules.names.has(name) || (rules.anyAddress && isAddress(name))
  if (isAllowed) return undefined
  return new Misdirected({
    detail: `The request is for ${name}. This server does not accept that name; the operator can add it to ${setting}.`,
  })
}
