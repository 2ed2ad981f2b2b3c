/**
 * By which names a connector may be addressed. A web page can make a browser call this machine under a name of its own
 * (DNS rebinding); it cannot choose the `Host` that the browser then sends, so an unknown name is refused.
 */
import { hostName, isLoopback } from "../../domain/hostName.ts"

// No name that anybody could register looks like this, so no rebinding is behind it.
const isIpAddress = (name: string): boolean => /^\d{1,3}(\.\d{1,3}){3}$/.test(name) || name.includes(":")

export interface HostRules {
  /** Names beside the loopback ones. */
  readonly allowedHosts: ReadonlyArray<string>
  /** Whether other machines may call, which do so under some address of this one. */
  readonly allowRemote: boolean
}

export const isAllowedHost = (host: string, rules: HostRules): boolean => {
  const name = hostName(host)
  return (
    isLoopback(name) ||
    rules.allowedHosts.some((allowed) => hostName(allowed) === name) ||
    (rules.allowRemote && isIpAddress(name))
  )
}
