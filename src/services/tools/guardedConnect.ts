/**
 * Connects to permitted addresses only. Checks the address that a name resolves to while connecting, so it cannot
 * change in between.
 */
import { isIP, type LookupFunction } from "node:net"
import type { buildConnector } from "undici"
import { inTurns, type Lookup } from "./lookups.ts"

/** The name resolves to an address that requests may not reach. */
class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

/** Reason of a refusal. Callers say first what failed. */
export const REFUSED =
  "its address is in a private network, or its URL is not https. The operator can allow a network (TOOL_PRIVATE_NETWORKS)."

/** Whether a connection was refused here. A failed connection to several addresses has several errors. */
export const isRefused = (cause: unknown): boolean =>
  cause instanceof AddressRefused ||
  (cause instanceof AggregateError && cause.errors.some(isRefused)) ||
  (cause instanceof Error && "reason" in cause && isRefused(cause.reason)) ||
  (cause instanceof Error && cause.cause !== undefined && isRefused(cause.cause))

/**
 * Returns the connector of a tenant. `mayConnect` decides by scheme and address. If a name has a refused address, the
 * name is refused.
 */
export const guardedConnect = (
  build: typeof buildConnector,
  options: {
    readonly mayConnect: (protocol: string, address: string) => boolean
    readonly lookup: Lookup
    /** In milliseconds; includes DNS and TLS. */
    readonly timeout: number
  },
): ((tenant: string) => buildConnector.connector) => {
  const { mayConnect, timeout } = options
  const lookup = inTurns(options.lookup, timeout)
  const guarded =
    (tenant: string, protocol: string): LookupFunction =>
    (name, { all }, done) =>
      lookup(tenant, name, (error, addresses) => {
        if (error !== null) return done(error, [])
        if (!addresses.every(({ address }) => mayConnect(protocol, address))) return done(new AddressRefused(), [])
        const [first] = addresses
        if (all === true || first === undefined) return done(null, [...addresses])
        done(null, first.address, first.family)
      })
  return (tenant) => {
    const connectors = {
      "http:": build({ timeout, lookup: guarded(tenant, "http:") }),
      "https:": build({ timeout, lookup: guarded(tenant, "https:") }),
    }
    return (target, done) => {
      const { hostname, protocol } = target
      const connect = protocol === "https:" ? connectors["https:"] : connectors["http:"]
      const host = hostname.replaceAll(/^\[|\]$/g, "")
      // An address is connected to without a lookup.
      if (isIP(host) !== 0 && !mayConnect(protocol, host)) return done(new AddressRefused(), null)
      connect(target, done)
    }
  }
}
