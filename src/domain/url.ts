/** Addresses as people write them. */

/** `url` without the slashes at its end, so that a path can follow. */
export const withoutSlashes = (url: string): string => {
  let end = url.length
  while (url[end - 1] === "/") end--
  return url.slice(0, end)
}

/** `base` and `path`, with or without its own slash, joined by exactly one. */
export const joinUrl = (base: string, path: string): string =>
  `${withoutSlashes(base)}${path.startsWith("/") ? "" : "/"}${path}`
