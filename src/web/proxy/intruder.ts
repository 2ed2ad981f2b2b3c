/** Simulates attackers on the path, who can only remove or change messages, to show how the client reacts. */
import { decodeBase64Url, encodeBase64Url, fromUtf8, utf8 } from "../../domain/bytes/bytes.ts"
import { objectIn } from "./objectIn.ts"
import type { ServerSentEvent } from "../../client/sealed/serverSentEvents.ts"

export const ATTACKS = {
  flip: "Change a character",
  drop: "Drop a frame",
  repeat: "Repeat a frame",
  cut: "Cut the answer short",
  key: "Put in another key",
  suite: "Remove the post-quantum suite",
} as const
export type Attack = keyof typeof ATTACKS
export type Intrusion = Attack | "none"

/** Index of the attacked frame: not the first, so that a verified beginning is visible. */
const VICTIM = 1

const spoilt = (data: string): string =>
  data.replace(/("ciphertext":")(.)/, (_, before: string, first: string) => before + (first === "A" ? "B" : "A"))

/** Returns the events that replace the `frame`-th frame; `undefined` ends the stream. */
export const passFrame = (
  intrusion: Intrusion,
  event: ServerSentEvent,
  frame: number,
): ReadonlyArray<ServerSentEvent> | undefined => {
  if (frame !== VICTIM) return [event]
  switch (intrusion) {
    case "flip":
      return [{ ...event, data: spoilt(event.data) }]
    case "drop":
      return []
    case "repeat":
      return [event, event]
    case "cut":
      return undefined
    case "none":
    case "key":
    case "suite":
      return [event]
  }
}

/** Whether the attack targets the start of a session, which then needs a new session. */
export const isAtBeginning = (intrusion: Intrusion): boolean => intrusion === "key" || intrusion === "suite"

export const passInit = (intrusion: Intrusion, body: string): string => {
  const { suites, ...rest } = objectIn(body)
  return intrusion === "suite" && Array.isArray(suites) ? JSON.stringify({ ...rest, suites: suites.slice(1) }) : body
}

/** Returns the body that replaces a session's offer. `theirs` is a 32-byte key in base64url. */
export const passOffer = (intrusion: Intrusion, offer: string, theirs: string): string =>
  intrusion === "key"
    ? offer.replace(CLAIMS, (_, before: string, claims: string) => before + withKey(claims, theirs))
    : offer

/** The second part of the statement in an offer. */
const CLAIMS = /("attestation":"[^".]*\.)([^".]*)/

const withKey = (claims: string, theirs: string): string => {
  const bytes = decodeBase64Url(claims)
  if (bytes === undefined) return claims
  return encodeBase64Url(utf8(fromUtf8(bytes).replace(/("public_key":")[^"]*/, `$1${theirs}`)))
}
