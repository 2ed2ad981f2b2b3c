/** What an answer is that was not the one hoped for, and who may have given it. */
import { isObject } from "../../domain/json/json.ts"
import { problemType } from "../../domain/problems/problem.ts"
import type { Probed } from "./probe.ts"

/** The longest text of others that is quoted, in characters. */
const QUOTED = 80
const TITLE = /<title>([^<]*)/i

/** Whether a sealgate server answered: what all of them say of themselves, or a problem of theirs. */
export const isOurs = ({ body }: Probed): boolean =>
  isObject(body) &&
  (String(body["software"]).startsWith("sealgate/") || String(body["type"]).startsWith(problemType("")))

/** An answer for the end of a sentence: of a problem its title, of a page its title, of anything else how it begins. */
export const seen = ({ body, headers, status, text }: Probed): string => {
  if (isObject(body) && typeof body["title"] === "string") return `status ${status}: ${body["title"]}`
  const type = headers["content-type"]?.split(";")[0] ?? "no content type"
  const from = headers["server"] === undefined ? "" : ` from ${headers["server"]}`
  const words = (TITLE.exec(text.slice(0, 4096))?.[1] ?? (text.startsWith("<") ? "" : text)).trim().slice(0, QUOTED)
  return `status ${status}, ${type}${from}${words === "" ? "." : `: ${words}`}`
}

const SERVER_FAULT = 500
const LOGIN = new Set([401, 403, 407])

/** What to look at where something else answered in place of the proxy, by the status of its answer. */
export const inItsPlace = ({ headers, status }: Probed): string => {
  const { location } = headers
  if (status >= 300 && status < 400 && location !== undefined) return `Use the address that it leads to: ${location}`
  if (LOGIN.has(status)) {
    return "Something before the proxy wants a login. Let requests through to it: whoever calls it says so under the seal."
  }
  if (status >= SERVER_FAULT) {
    return "Something before the proxy answers in its place: see whether the proxy runs, and where it is looked for."
  }
  return "Check the address, path included."
}
