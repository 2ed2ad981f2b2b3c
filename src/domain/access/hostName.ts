/** Which machine a host name means, as far as the name itself shows it. */

/** `Host` without its port, in lower case; an IPv6 address without its brackets. */
export const hostName = (host: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim().toLowerCase()) ?? []
  return bracketed ?? plain ?? ""
}

/**
 * Whether `name` is this machine and nothing else: `localhost`, 127.0.0.0/8, ::1. Not every resolver keeps names below
 * `localhost` on this machine (RFC 6761 §6.3), so they are names like any other.
 */
export const isLoopback = (name: string): boolean =>
  name === "localhost" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name) || name === "::1"
