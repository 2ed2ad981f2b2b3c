/** Classifies host names without resolving them. */

/** `Host` without its port, in lower case; an IPv6 address without its brackets. */
export const hostName = (host: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim().toLowerCase()) ?? []
  return bracketed ?? plain ?? ""
}

/** Whether `name` always means this machine. Some resolvers look up names below `localhost` elsewhere (RFC 6761 §6.3). */
export const isLoopback = (name: string): boolean =>
  name === "localhost" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name) || name === "::1"
