/** A hint for browsers: a page cannot tell whether a server of another origin is down or refuses the page's origin. */
export const originHint = (url: string | URL): string => {
  const page: unknown = Reflect.get(globalThis, "location")
  if (typeof page !== "object" || page === null || !("origin" in page)) return ""
  const { origin } = page
  return URL.canParse(url) && new URL(url).origin !== origin
    ? ` (Browsers do not tell pages the reason. If the server runs, its operator may have to add ${String(origin)} to ALLOWED_ORIGINS.)`
    : ""
}
