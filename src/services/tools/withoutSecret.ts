/** Removes a secret from what a tool returned. */
import { Redacted } from "effect"
import { CUT } from "./ToolOutput.ts"

const SHOWN = "[secret]"
/** A shorter beginning of a secret at the end of a text is not worth hiding. */
const LEAST_PREFIX = 4

/** The bearer token of a tool's requests, if its agent names one. */
export type Bearer = Redacted.Redacted | undefined

/** Headers that carry a bearer token. */
export const authorizationOf = (bearer: Bearer): Readonly<Record<string, string>> =>
  bearer === undefined ? {} : { authorization: `Bearer ${Redacted.value(bearer)}` }

/** Replaces a secret in every text of a value. A text that was cut may end in the beginning of one. */
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
  const clean = (text: string): string =>
    withoutPrefix(
      secret,
      forms.reduce((rest, form) => rest.replaceAll(form, SHOWN), text),
    )
  // Only texts change, so the shape stays.
  return mapTexts(value, clean) as A
}

const withoutPrefix = (secret: string, text: string): string => {
  const end = text.lastIndexOf(`\n${CUT}`)
  const last = end === -1 ? text.length : end
  for (let length = Math.min(secret.length - 1, last); length >= LEAST_PREFIX; length--) {
    if (text.endsWith(secret.slice(0, length), last))
      return `${text.slice(0, last - length)}${SHOWN}${text.slice(last)}`
  }
  return text
}

const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [change(name), mapTexts(member, change)]))
}
