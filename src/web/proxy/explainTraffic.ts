/** Explains each message on the wire to a reader who does not know the protocol. */
import { decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { parseStatement } from "../../domain/protocol/statement.ts"
import { SUITES } from "../../domain/protocol/suites.ts"
import { objectIn } from "./objectIn.ts"
import type { Crossing } from "./wiretap.ts"

export interface Explained {
  readonly what: "request" | "question" | "answer" | "frame" | "proof"
  readonly title: string
  readonly meaning: string
  /**
   * `open`: public by design; `own`: sealed here; `sealed`, `signed`: not checked yet; `verified`, `refused`: checked;
   * `unread`: arrived after a refused message.
   */
  readonly state: "open" | "own" | "sealed" | "signed" | "verified" | "refused" | "unread"
  /** Length on the wire, in bytes. */
  readonly bytes: number
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** Infers the suite of a sealed question from the size of `enc`. */
const suiteOf = (sealed: string): string => {
  const { enc } = objectIn(sealed)
  const length = typeof enc === "string" ? decodeBase64Url(enc)?.length : undefined
  return SUITES.find(({ encBytes }) => encBytes === length)?.name ?? "of the session"
}

const asked = ({ path, text }: Crossing, question: string): Omit<Explained, "bytes"> => {
  if (path.endsWith("/init")) {
    return {
      what: "request",
      title: "Asks for a session",
      meaning:
        "A fresh random number and the accepted suites. The offer must be signed over both, so an old offer or a shortened list fails.",
      state: "open",
    }
  }
  if (path.endsWith("/keys")) {
    return {
      what: "request",
      title: "Asks for the public key",
      meaning: "Only a key whose thumbprint is the pinned key id is trusted.",
      state: "open",
    }
  }
  return {
    what: "question",
    title: "The question, sealed",
    meaning: `“${question}”, with the conversation so far, padded and sealed with HPKE to the session’s key, in the suite ${suiteOf(text)}.`,
    state: "own",
  }
}

/** Reads the suite of an offer from its statement, without verifying it. */
const suiteIn = (offer: string): string => {
  const { attestation } = objectIn(offer)
  const claims = typeof attestation === "string" ? parseStatement(attestation)?.claims : undefined
  const suite: unknown = typeof claims === "object" && claims !== null && "suite" in claims ? claims.suite : undefined
  const known = SUITES.find(({ id }) => JSON.stringify(id) === JSON.stringify(suite))
  return known?.name ?? "that the proxy chose"
}

const answered = ({ path, status = 0, text }: Crossing): Omit<Explained, "bytes"> => {
  if (status >= 400) {
    const { detail, title } = objectIn(text)
    const words = typeof title === "string" ? `${title} ${typeof detail === "string" ? detail : ""}` : "A refusal."
    return { what: "answer", title: `Refused (${status})`, meaning: words.trim(), state: "open" }
  }
  if (path.endsWith("/init")) {
    return {
      what: "answer",
      title: "The offer of a session",
      meaning: `A key of the suite ${suiteIn(text)} that lives for minutes, signed by the proxy's identity. The client seals only if that identity is pinned.`,
      state: "signed",
    }
  }
  if (!path.endsWith("/keys")) {
    return {
      what: "answer",
      title: "A sealed answer",
      meaning: "Sealed as a whole with a signed end: an answer or a refusal.",
      state: "sealed",
    }
  }
  return {
    what: "answer",
    title: "The public key",
    meaning: "Trusted because its thumbprint is the pinned key id, wherever it came from.",
    state: "open",
  }
}

const streamed = (event: string, text: string): Omit<Explained, "bytes"> => {
  const data = objectIn(text)
  switch (event) {
    case "open":
      return {
        what: "answer",
        title: "The stream opens",
        meaning: "A random number for the keys of this answer. The chain begins with it and the hash of the question.",
        state: "open",
      }
    case "frame":
      return {
        what: "frame",
        title: `Frame ${String(data["seq"])}${data["final"] === true ? ", the last one" : ""}`,
        meaning: "Sealed, and not checked yet.",
        state: "sealed",
      }
    case "proof":
      return {
        what: "proof",
        title: "The proof",
        meaning: "Signed over the whole chain: the number, content and order of frames, and how it ended.",
        state: "signed",
      }
    default:
      return { what: "answer", title: event, meaning: "Not an event of the protocol.", state: "open" }
  }
}

export const explain = (crossing: Crossing, question: string): Explained => {
  const { direction, event, text } = crossing
  const explained =
    direction === "out" ? asked(crossing, question) : event === undefined ? answered(crossing) : streamed(event, text)
  return { ...explained, bytes: bytesOf(text) }
}
