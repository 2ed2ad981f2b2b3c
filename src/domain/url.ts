/** Reads and joins URLs as people write them. */

/** Whether a URL holds a user or a password. */
export const hasUser = ({ password, username }: URL): boolean => username !== "" || password !== ""

/** `url` without trailing slashes. */
export const withoutSlashes = (url: string): string => {
  let end = url.length
  while (url[end - 1] === "/") end--
  return url.slice(0, end)
}

/** Joins `base` and `path` with exactly one slash. */
export const joinUrl = (base: string, path: string): string =>
  `${withoutSlashes(base)}${path.startsWith("/") ? "" : "/"}${path}`
