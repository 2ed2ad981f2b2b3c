/**
 * By which names a server may be asked. A web page can make a browser call any machine under a name of the page's own
 * (DNS rebinding), and then read the answers; it cannot choose the `Host` that the browser sends, so other names are
 * refused. Nobody can register a name that looks like an address, so no rebinding is behind one.
 */
import { IncomingMessage } from "node:http"
import { hostname, networkInterfaces } from "node:os"
import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { Malformed, Misdirected } from "../../api/problems.ts"
import { hostName, isLoopback } from "../../domain/hostName.ts"
import { canonicalAddress } from "../../domain/ipAddress.ts"

export interface HostSettings {
  /** Where the server listens. */
  readonly host: string
  /** Names beside those of the machine; `*` is any. Without a list, whoever other machines can reach takes any too. */
  readonly allowedHosts: ReadonlyArray<string> | undefined
}

export interface HostRules {
  readonly anyName: boolean
  readonly anyAddress: boolean
  readonly names: ReadonlySet<string>
}

const ANY = "*"

/** Names are the same in any case, and with a dot at the end; addresses however they are written. */
const canonical = (name: string): string => canonicalAddress(name.toLowerCase().replace(/\.$/, ""))

const isAddress = (name: string): boolean => Result.isSuccess(NetAddress.ipFromString(name))

const ofThisMachine = (): ReadonlyArray<string> => [
  hostname(),
  ...Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []),
]

/** What is on loopback is asked from its machine alone; what is not, also by whoever knows no more than its address. */
export const hostRules = ({ allowedHosts, host }: HostSettings): HostRules => {
  const isLocal = isLoopback(host)
  return {
    anyName: allowedHosts === undefined ? !isLocal : allowedHosts.includes(ANY),
    anyAddress: !isLocal,
    names: new Set([...(allowedHosts ?? []), ...(isLocal ? ofThisMachine() : [])].map(canonical)),
  }
}

/** `Host` as RFC 9112 §3.2 and RFC 9110 §4.2.1 have it for http: a name or an address, and perhaps a port. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{0,5})?$/i

/** Every `Host` that was sent; Node gives the first only. */
const hostsSent = ({ headers, source }: HttpServerRequest.HttpServerRequest): ReadonlyArray<string> => {
  if (source instanceof IncomingMessage) {
    return source.rawHeaders.filter((_, i, lines) => i % 2 === 1 && lines[i - 1]?.toLowerCase() === "host")
  }
  return headers["host"] === undefined ? [] : [headers["host"]]
}

/** HTTP/1.0 does not know `Host`. */
const needsHost = ({ source }: HttpServerRequest.HttpServerRequest): boolean =>
  !(source instanceof IncomingMessage) || source.httpVersion !== "1.0"

const badHost = () => new Malformed({ detail: "Send one Host header, with a name or an address and perhaps a port." })

/**
 * Why a request is not for this server, or `undefined`. `setting` is where its operator adds names. The request is to be
 * as it came: who can send `X-Forwarded-Host` must not choose what is looked at.
 */
export const hostRefusal = (
  request: HttpServerRequest.HttpServerRequest,
  rules: HostRules,
  setting: string,
): Malformed | Misdirected | undefined => {
  const [sent, ...more] = hostsSent(request)
  if (sent === undefined && !needsHost(request)) return undefined
  // The one in the target counts, where there is one (RFC 9112 §3.2.2); what was sent has to be proper all the same.
  const host = request.headers["host"] ?? ""
  if (sent === undefined || more.length > 0 || ![sent, host].every((text) => HOST.test(text))) return badHost()
  const name = canonical(hostName(host))
  const isAllowed = rules.anyName || isLoopback(name) || rules.names.has(name) || (rules.anyAddress && isAddress(name))
  if (isAllowed) return undefined
  return new Misdirected({
    detail: `The request is for ${name}. If this server is meant by that, its operator adds it to ${setting}.`,
  })
}
