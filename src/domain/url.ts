/** Reads and joins URLs as people write them. */

export const hasUser = ({ password, username }: URL): boolean => username !== "" || password !== ""

/** Throws if `url` has a user or password, which `fetch` refuses. Its message does not quote them. */
export const refuseUser = (url: string, whose: string, instead: string): void => {
  if (!URL.canParse(url) || !hasUser(new URL(url))) return
  throw new TypeError(`The ${whose}'s address holds a user or password, which no ${whose} takes; use \`${instead}\`.`)
}

export const withoutSlashes = (url: string): string => {
  let end = url.length
  while (url[end - 1] === "/") end--
  return url.slice(0, end)
}

/** Joins `base` and `path` with exactly one slash. */
export const joinUrl = (base: string, path: string): string =>
  `${withoutSlashes(base)}${path.startsWith("/") ? "" : "/"}${path}`
