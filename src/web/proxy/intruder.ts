/**
 * Somebody on the path who can change what passes but not read it, played by the page itself between the network and the
 * sealed client, so that everybody can see what happens then. Each of them only takes away or spoils.
 */
import { decodeBase64Url, encodeBase64Url, fromUtf8, utf8 } from "../../domain/bytes/bytes.ts"
import { objectIn } from "./objectIn.ts"
import type { ServerSentEvent } from "../../client/sealed/serverSentEvents.ts"

export const INTRUSIONS = {
  none: "nobody",
  flip: "someone who changes one character of a frame",
  drop: "someone who drops a frame",
  repeat: "someone who repeats a frame",
  cut: "someone who cuts the answer short",
  key: "someone who puts their own key into the offer",
  suite: "someone who takes the post-quantum suite off the list",
} as const
export type Intrusion = keyof typeof INTRUSIONS

/** Which frame is interfered with: not the first, so that a verified beginning is seen. */
const VICTIM = 1

const spoilt = (data: string): string =>
  data.replace(/("ciphertext":")(.)/, (_, before: string, first: string) => before + (first === "A" ? "B" : "A"))

/** What passes on instead of the `frame`-th frame; `undefined` ends the stream. */
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

/** Sessions are begun with these, so whoever wants to interfere with that has to be there then. */
export const isAtBeginning = (intrusion: Intrusion): boolean => intrusion === "key" || intrusion === "suite"

/** What passes on instead of the body that asks for a session. */
export const passInit = (intrusion: Intrusion, body: string): string => {
  const { suites, ...rest } = objectIn(body)
  return intrusion === "suite" && Array.isArray(suites) ? JSON.stringify({ ...rest, suites: suites.slice(1) }) : body
}

/** What passes on instead of a session's offer. `theirs` is a key of 32 bytes in base64url. */
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
