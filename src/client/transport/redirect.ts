/** Redirects are never followed: a request is for the given address only. */

/** Browsers hide both the target and the status (0) of a redirect. */
export const isRedirect = (status: number): boolean => status === 0 || (status >= 300 && status < 400)

/** Names the other server, or the other path of the same one; empty if it is hidden. */
const targetOf = (server: string, location: string | null | undefined): string => {
  if (location == null || !URL.canParse(location, server)) return ""
  const to = new URL(location, server)
  return ` to ${to.origin === new URL(server).origin ? to.pathname : to.origin}`
}

/** Error message for a redirect by `server`, a URL, with the `Location` of its answer. */
export const redirectMessage = (server: string, location: string | null | undefined): string =>
  `${server} redirects${targetOf(server, location)}, which is not followed; use the address that it redirects to.`
