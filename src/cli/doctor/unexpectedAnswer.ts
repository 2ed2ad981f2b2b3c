/** Describes an unexpected answer and its likely sender. */
import { isObject } from "../../domain/json/json.ts"
import { problemType } from "../../domain/problems/problem.ts"
import type { Probed } from "./probe.ts"

/** Longest quotation of an answer, in characters. */
const QUOTED = 80
const TITLE = /<title>([^<]*)/i

const begins = (value: unknown, start: string): boolean => typeof value === "string" && value.startsWith(start)

/** Whether a sealgate server answered, by its `software` or problem type. */
export const isFromSealgate = ({ body }: Probed): boolean =>
  isObject(body) && (begins(body["software"], "sealgate/") || begins(body["type"], problemType("")))

/** Returns status and title of a problem or page, or the beginning of any other answer. */
export const describeAnswer = ({ body, headers, status, text }: Probed): string => {
  if (isObject(body) && typeof body["title"] === "string") return `status ${status}: ${body["title"]}`
  const type = headers["content-type"]?.split(";")[0] ?? "no content type"
  const from = headers["server"] === undefined ? "" : ` from ${headers["server"]}`
  const words = (TITLE.exec(text.slice(0, 4096))?.[1] ?? (text.startsWith("<") ? "" : text)).trim().slice(0, QUOTED)
  return `status ${status}, ${type}${from}${words === "" ? "." : `: ${words}`}`
}

const SERVER_FAULT = 500
const LOGIN = new Set([401, 403, 407])

/** Returns a remedy when another server answered in place of the proxy, which was asked for `path`. */
export const remedyFor = ({ headers, status }: Probed, proxy: URL, path: string): string => {
  const { location } = headers
  if (status >= 300 && status < 400 && location !== undefined) {
    const target = URL.parse(location, new URL(path, proxy))
    return target?.pathname.endsWith(`/${path}`) === true
      ? `Use the address of the redirect: ${target.origin}${target.pathname.slice(0, -path.length)}`
      : `It redirects to ${location}; use the proxy's own address.`
  }
  if (LOGIN.has(status)) {
    return "A server in front of the proxy requires a login. Let requests pass: callers authenticate under the seal."
  }
  if (status >= SERVER_FAULT) {
    return "A server in front of the proxy answered: check that the proxy runs, and where that server expects it."
  }
  return "Check the address, path included."
}
