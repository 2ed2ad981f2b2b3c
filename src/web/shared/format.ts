/** Formats counts and times: decimal point, UTC. */

export const count = (n: number): string => n.toLocaleString("en-US")

/** Formats `saved_percent`, which is null without a baseline. */
export const percent = (value: number | null): string =>
  value === null ? "no baseline" : `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(1)} %`

export const fraction = (value: number | null): string => (value === null ? "none given" : value.toFixed(2))

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const duration = (ms: number): string => {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`
}

/** Milliseconds between two API times. */
export const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from)

/** Formats an age. Tolerates small clock differences between browser and gateway. */
export const age = (time: string, now: number): string => {
  const ms = now - Date.parse(time)
  if (ms < 5 * SECOND) return "just now"
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s ago`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h ago` : `${Math.floor(ms / DAY)} days ago`
}

/** `2026-11-21 14:03 UTC` */
export const moment = (time: string | number): string =>
  `${new Date(time).toISOString().slice(0, -":00.000Z".length).replace("T", " ")} UTC`

/** Shows both ends of an id, because ids created together begin alike. */
export const shortId = (id: string): string => `${id.slice(0, 8)}…${id.slice(-4)}`

export const excerpt = (text: string, length: number): string => {
  const line = text.trim().replaceAll(/\s+/g, " ")
  const characters = [...line]
  return characters.length <= length
    ? line
    : `${characters
        .slice(0, length - 1)
        .join("")
        .trimEnd()}…`
}

/** `1 job`, `2 jobs` */
export const plural = (n: number, thing: string): string => `${count(n)} ${thing}${n === 1 ? "" : "s"}`
