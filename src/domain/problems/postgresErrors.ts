/** Postgres' error codes (SQLSTATE) in words. Its messages quote rows and are never shown. */
import { isObject } from "../json/json.ts"

/** Refuses writes, as a standby does, and as an operator or provider sets it. */
export const READ_ONLY = "25006"

/** By SQLSTATE, or by its class, the first two characters. */
const WORDS: Readonly<Record<string, string>> = {
  [READ_ONLY]: "it is read-only, after a failover or because its disk is full",
  "28P01": "it refuses the user or the password",
  "28000": "it refuses the user",
  "3D000": "it has no database of that name",
  "42501": "the user lacks a right that is needed",
  "53": "it lacks resources",
  "53100": "its disk is full",
  "53200": "it has no memory left",
  "53300": "it has no connection left",
  "55P03": "a lock was not free in time",
  "57": "it ended the session",
  "57014": "it cancelled the statement",
  "57P03": "it is starting up or shutting down",
  "58": "its system failed",
}

/** The five digits and capital letters of Postgres, with a digit: `EPIPE` is a code of the system. */
const SQLSTATE = /^(?=\D*\d)[0-9A-Z]{5}$/

/** The SQLSTATE of the innermost cause, such as `53300`. */
export const sqlState = (error: unknown): string | undefined => {
  if (!isObject(error)) return undefined
  const { cause, code } = error
  return sqlState(cause) ?? (typeof code === "string" && SQLSTATE.test(code) ? code : undefined)
}

/** Words for a SQLSTATE, with the code; `undefined` if there are none. */
export const sqlStateReason = (state: string): string | undefined => {
  const words = WORDS[state] ?? WORDS[state.slice(0, 2)]
  return words === undefined ? undefined : `${words} (${state})`
}

/** Whether the server is at fault, and would fail any other write too. */
export const isServerFault = (state: string): boolean => state === READ_ONLY || /^5[378]/.test(state)
