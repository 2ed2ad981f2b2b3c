/** Removes a secret from the results of a tool. */
import { Redacted } from "effect"
import { CUT } from "./ToolOutput.ts"

const SHOWN = "[secret]"

/** The bearer token of a tool's requests, if its agent names one. */
export type Bearer = Redacted.Redacted | undefined

/** Headers that carry a bearer token. */
export const authorizationOf = (bearer: Bearer): Readonly<Record<string, string>> =>
  bearer === undefined ? {} : { authorization: `Bearer ${Redacted.value(bearer)}` }

export const withoutSecret = <A>(bearer: Bearer, value: A): A => {
  if (bearer === undefined) return value
  const secret = Redacted.value(bearer)
  const base64 = Buffer.from(secret).toString("base64")
  const forms = [
    ...new Set([
      secret,
      encodeURIComponent(secret),
      // Some writers of JSON escape it.
      secret.replaceAll("/", String.raw`\/`),
      base64,
      base64.replaceAll("=", ""),
      Buffer.from(secret).toString("base64url"),
    ]),
  ]
  const longest = Math.max(...forms.map(({ length }) => length))
  const clean = (text: string): string =>
    withoutEnd(
      longest - 1,
      forms.reduce((rest, form) => rest.replaceAll(form, SHOWN), text),
    )
  // Only texts change, so the shape stays.
  return mapTexts(value, clean) as A
}

/**
 * Shortens a text that was cut, because it may end in the beginning of the secret. It does not search for that
 * beginning: if a tool repeats its input, the difference would confirm guesses.
 */
const withoutEnd = (length: number, text: string): string => {
  const end = text.lastIndexOf(`\n${CUT}`)
  return end === -1 ? text : text.slice(0, Math.max(0, end - length)).toWellFormed() + text.slice(end)
}

const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [change(name), mapTexts(member, change)]))
}
