/** Hooks that change an honest proxy's answer: each gets the correct value and returns the one to send. */
import type { JsonObject } from "../../domain/json/json.ts"
import type { LyingIdentity, Sign } from "./Identity.ts"
import { type FramePlan, text } from "./reference.ts"

/** A value sent in place of a JSON value; text and bytes are sent unchanged. */
export type Replacement = unknown

export const bytesOf = (value: Replacement): Buffer => {
  if (value instanceof Uint8Array) return Buffer.from(value)
  return text(typeof value === "string" ? value : JSON.stringify(value))
}

/** Changes to one statement. */
export interface Forgery {
  readonly header?: (header: JsonObject) => Replacement
  readonly claims?: (claims: JsonObject) => Replacement
  /** Default: a correct signature of the pinned identity. */
  readonly sign?: Sign
  /** Signs with a stranger's key; with `own` also under its kid, and the offer's keys include it. */
  readonly byStranger?: true | "own"
  readonly whole?: (statement: string) => Replacement
}

export interface WireEvent {
  readonly event: string
  readonly data: Replacement
}

/** A piece of a body at which the connection breaks. */
export const BREAK = Symbol("break")
export type ReplyPiece = WireEvent | string | typeof BREAK

export interface ProxyReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ReadonlyArray<string | Buffer | typeof BREAK>
}

/** The bytes of a reply up to its end or break. */
export const bodyOf = ({ body }: ProxyReply): Buffer =>
  Buffer.concat(body.flatMap((piece) => (piece === BREAK ? [] : [Buffer.from(piece)])))

export interface WireAnswer {
  readonly response_nonce: string
  /** base64url. */
  readonly frames: ReadonlyArray<string>
  readonly proof: string
}

/** Other answers that hooks on the wire may use. */
interface Others {
  readonly again: () => WireAnswer
  /** An answer to another request, with unknown keys. */
  readonly foreign: () => WireAnswer
}

/** The answer to `POST /v1/init`. */
interface Offer {
  readonly attestation: string
  readonly keys: ReadonlyArray<LyingIdentity["jwk"]>
}

export interface Lie {
  /** Takes a suite that was not offered, with a key of that suite. */
  readonly otherSuite?: true
  /** Answers correctly sealed, but in the other form. */
  readonly otherForm?: true
  readonly session?: Forgery
  /** The answer to `POST /v1/init`; `stranger` is the public key of another identity. */
  readonly offer?: (offer: Offer, stranger: JsonObject) => Replacement
  readonly payloads?: (payloads: ReadonlyArray<JsonObject>) => ReadonlyArray<Replacement>
  /** Status in end record and receipt; default: `complete`. */
  readonly status?: "failed" | "aborted"
  readonly record?: (record: JsonObject) => Replacement
  readonly recordBytes?: number
  readonly frame?: (plan: FramePlan) => FramePlan
  readonly receipt?: Forgery
  readonly proof?: Forgery
  readonly body?: (body: Omit<WireAnswer, "proof">, others: Others) => Replacement
  readonly events?: (events: ReadonlyArray<WireEvent>, others: Others) => ReadonlyArray<ReplyPiece>
  readonly reply?: (reply: ProxyReply) => ProxyReply
  /** Answers to every request of a kind, in place of correct ones. */
  readonly instead?: { readonly init?: ProxyReply; readonly completions?: ProxyReply }
}
