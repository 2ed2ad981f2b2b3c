/**
 * The hooks with which a case changes an honest proxy's answer. Each receives the correct value and returns the one to send, as
 * JSON unless it is text or bytes.
 */
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { PublicJwk } from "../../domain/protocol/statement.ts"
import type { Form } from "../../domain/protocol/transcript.ts"
import type { Sign } from "./Identity.ts"

/** A value sent in place of a JSON value; text and bytes are sent unchanged. */
export type Told = unknown

export const bytesOf = (told: Told): Bytes => {
  if (told instanceof Uint8Array) return new Uint8Array(told)
  return utf8(typeof told === "string" ? told : JSON.stringify(told))
}

/** Changes to one statement. */
export interface Forgery {
  readonly header?: (header: JsonObject) => Told
  readonly claims?: (claims: JsonObject) => Told
  /** Default: a correct signature of the pinned identity. */
  readonly sign?: Sign
  /** Signs with a stranger's key; with `own` also under its kid, and the offer's keys include it. */
  readonly byStranger?: true | "own"
  /** Changes the signed statement. */
  readonly whole?: (statement: string) => Told
}

export interface StreamEvent {
  readonly event: string
  readonly data: Told
}

/** A piece of a body at which the connection breaks. */
export const BREAK = Symbol("break")
/** An event, literal text, or a break. */
export type Piece = StreamEvent | string | typeof BREAK

/** A frame before sealing. */
export interface FramePlan {
  readonly index: number
  readonly form: Form
  readonly final: boolean
  readonly payload: Bytes
  /** The smallest block. */
  readonly floor: number
  /** Block in place of the padded payload. */
  readonly block?: Bytes
  readonly requestHash: Bytes
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ReadonlyArray<string | Bytes | typeof BREAK>
}

/** A sealed answer. */
export interface Sealed {
  readonly responseNonce: string
  /** base64url. */
  readonly frames: ReadonlyArray<string>
  readonly proof: string
}

/** Other answers that hooks on the wire may use. */
interface Others {
  /** A second answer to the same request. */
  readonly again: () => Sealed
  /** An answer to another request, with unknown keys. */
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
  /** Answers correctly sealed, but in the other form. */
  readonly otherForm?: true
  readonly session?: Forgery
  /** The answer to `POST /v1/init`; `stranger` is the public key of another identity. */
  readonly offer?: (offer: Offer, stranger: JsonObject) => Told
  /** Payloads of the data frames. */
  readonly payloads?: (payloads: ReadonlyArray<JsonObject>) => ReadonlyArray<Told>
  /** Status in end record and receipt; default: `complete`. */
  readonly status?: "failed" | "aborted"
  readonly record?: (record: JsonObject) => Told
  /** Length of the end record, in bytes. */
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
  /** Changes the HTTP answer to a sealed request. */
  readonly reply?: (reply: Reply) => Reply
  /** Replaces the answer to the `count`th request of this kind, counted from 1. */
  readonly instead?: (path: "init" | "completions", count: number) => Reply | undefined
}
