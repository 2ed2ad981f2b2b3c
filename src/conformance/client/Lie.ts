/**
 * Where a case lays its hands on what an honest proxy would say. Each hook is given what would be right; what it gives instead is
 * sent as JSON, or as it stands where it is text or bytes.
 */
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { PublicJwk } from "../../domain/protocol/statement.ts"
import type { Form } from "../../domain/protocol/transcript.ts"
import type { Sign } from "./Identity.ts"

/** What is told in place of a JSON value. */
export type Told = unknown

export const bytesOf = (told: Told): Bytes => {
  if (told instanceof Uint8Array) return new Uint8Array(told)
  return utf8(typeof told === "string" ? told : JSON.stringify(told))
}

/** One statement, and how it is forged. */
export interface Forgery {
  readonly header?: (header: JsonObject) => Told
  readonly claims?: (claims: JsonObject) => Told
  /** Default: as it must be, by the pinned identity. */
  readonly sign?: Sign
  /** Somebody else's key. With `own` under that key's kid, which is shown among the keys. */
  readonly byStranger?: true | "own"
  /** The whole statement, after it was signed. */
  readonly whole?: (statement: string) => Told
}

export interface StreamEvent {
  readonly event: string
  readonly data: Told
}

/** In the place of a piece of a body: the connection breaks. */
export const BREAK = Symbol("break")
/** An event, the very text of a piece, or a break. */
export type Piece = StreamEvent | string | typeof BREAK

/** A frame before it is sealed. */
export interface FramePlan {
  readonly index: number
  readonly form: Form
  readonly final: boolean
  readonly payload: Bytes
  /** The smallest block. */
  readonly floor: number
  /** Instead of the block that the payload is padded to. */
  readonly block?: Bytes
  readonly requestHash: Bytes
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ReadonlyArray<string | Bytes | typeof BREAK>
}

/** Of an answer as it is sent. */
export interface Sealed {
  readonly responseNonce: string
  /** base64url. */
  readonly frames: ReadonlyArray<string>
  readonly proof: string
}

/** What hooks on the wire may draw on beside what would be right. */
interface Others {
  /** The same request answered once more. */
  readonly again: () => Sealed
  /** An answer to another request, whose keys nobody here has. */
  readonly foreign: () => Sealed
}

/** The answer to `POST /v1/init`. */
interface Offer {
  readonly attestation: string
  readonly keys: ReadonlyArray<PublicJwk>
}

export interface Lie {
  /** Takes a suite that was not offered, with a key of that suite. */
  readonly otherSuite?: true
  /** Answers, properly sealed, in the form that was not asked for. */
  readonly otherForm?: true
  readonly session?: Forgery
  /** The answer to `POST /v1/init`; `stranger` is the public key of another identity. */
  readonly offer?: (offer: Offer, stranger: JsonObject) => Told
  /** Payloads of the data frames. */
  readonly payloads?: (payloads: ReadonlyArray<JsonObject>) => ReadonlyArray<Told>
  /** How it ended, in record and receipt alike; `complete` without it. */
  readonly status?: "failed" | "aborted"
  readonly record?: (record: JsonObject) => Told
  /** How long the end record is made, in bytes. */
  readonly recordBytes?: number
  readonly frame?: (plan: FramePlan) => FramePlan
  readonly receipt?: Forgery
  readonly proof?: Forgery
  /** The body of a complete answer. */
  readonly body?: (
    body: { readonly response_nonce: string; readonly frames: ReadonlyArray<string> },
    others: Others,
  ) => Told
  readonly events?: (events: ReadonlyArray<StreamEvent>, others: Others) => ReadonlyArray<Piece>
  /** The answer to a sealed request as it goes out. */
  readonly reply?: (reply: Reply) => Reply
  /** Instead of any answer of its own: to the beginning of a session, or to the n-th sealed request, counted from 1. */
  readonly instead?: (path: "init" | "completions", count: number) => Reply | undefined
}
