/**
 * What a browser keeps from a page: whether a server of another origin is away, or does not serve pages of this one. For
 * the end of a message; empty where no browser is.
 */
export const originHint = (url: string | URL): string => {
  const page: unknown = Reflect.get(globalThis, "location")
  if (typeof page !== "object" || page === null || !("origin" in page)) return ""
  const { origin } = page
  return URL.canParse(url) && new URL(url).origin !== origin
    ? ` (Browsers do not tell pages the reason. If the server runs, its operator may have to add ${String(origin)} to ALLOWED_ORIGINS.)`
    : ""
}
