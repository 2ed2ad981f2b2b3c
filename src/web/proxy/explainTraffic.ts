/** What it means that something crossed the wire, in a sentence for somebody who never read the protocol. */
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
   * `open`: readable on the path, and meant to be; `own`: sealed here; `sealed`, `signed`: not checked yet; `verified`,
   * `refused`: checked; `unread`: came after something was refused.
   */
  readonly state: "open" | "own" | "sealed" | "signed" | "verified" | "refused" | "unread"
  /** Length on the wire, in bytes. */
  readonly bytes: number
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** The suite that a question was sealed in: the sizes of what encapsulates its key differ. */
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
        "A fresh random number, and the suites that will do. The offer that comes back has to be signed over both, so no old offer will do, and nobody can shorten the list.",
      state: "open",
    }
  }
  if (path.endsWith("/keys")) {
    return {
      what: "request",
      title: "Asks for the public key",
      meaning: "Only a key whose thumbprint is the pinned key id will be believed.",
      state: "open",
    }
  }
  return {
    what: "question",
    title: "The question, sealed",
    meaning: `“${question}”, with everything said before, padded and sealed with HPKE to the session’s key, in the suite ${suiteOf(text)}.`,
    state: "own",
  }
}

/** The suite that an offer is for, as the statement says it, checked or not. */
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
      meaning: `A key of the suite ${suiteIn(text)} that lives for minutes, signed by the proxy's identity. Nothing is sealed unless that is pinned.`,
      state: "signed",
    }
  }
  if (!path.endsWith("/keys")) {
    return {
      what: "answer",
      title: "A sealed answer",
      meaning: "Sealed whole, with its signed end: an answer, or why there is none.",
      state: "sealed",
    }
  }
  return {
    what: "answer",
    title: "The public key",
    meaning: "Counted only because its thumbprint is the pinned key id, wherever it came from.",
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
        meaning:
          "A random number for the keys of this one answer. The chain begins with it and the hash of the question.",
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
        meaning:
          "Signed over the whole chain: how many frames there were, which ones, in which order, and how it ended.",
        state: "signed",
      }
    default:
      return { what: "answer", title: event, meaning: "An event that the protocol does not know.", state: "open" }
  }
}

export const explain = (crossing: Crossing, question: string): Explained => {
  const { direction, event, text } = crossing
  const explained =
    direction === "out" ? asked(crossing, question) : event === undefined ? answered(crossing) : streamed(event, text)
  return { ...explained, bytes: bytesOf(text) }
}
