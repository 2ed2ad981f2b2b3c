/** The interface of a vendor's protocol, and the parts that all three share. */
import type { Asked, WireName } from "./Asked.ts"
import type { Objection, RetryAfter, VendorOptions } from "./Reply.ts"
import type { Said } from "./Said.ts"

/** A piece of a stream. Only `content` counts as a chunk of the answer; a `sentinel` closes the stream. */
export interface Frame {
  readonly kind: "content" | "other" | "sentinel"
  readonly text: string
}

export interface ErrorReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/** A request that the vendor would refuse. */
export interface Refusal {
  readonly objection: Objection
  readonly message: string
}

export interface Received {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** One vendor's protocol. */
export interface WireFormat {
  readonly name: WireName
  /** Whether a path belongs to it. */
  readonly owns: (path: string) => boolean
  /** The caller's key, if it is where this vendor looks for it. */
  readonly key: (received: Received) => string | undefined
  /** Reads a request, or returns why the vendor would refuse it. */
  readonly read: (received: Received, key: string) => Asked | Refusal
  readonly streamType: string
  readonly answerHeaders: (said: Said) => Readonly<Record<string, string>>
  readonly whole: (said: Said) => unknown
  readonly frames: (said: Said) => ReadonlyArray<Frame>
  /** A frame around arbitrary data. */
  readonly frame: (data: string) => string
  readonly ping: string
  /** One more chunk of text, for floods. */
  readonly chunk: (said: Said, text: string) => string
  readonly error: (objection: Objection, options?: VendorOptions) => ErrorReply
  /** The vendor's answer to a request without a key, if it differs from that to a wrong key. */
  readonly missingKey: ErrorReply
  /** An error within a stream that had begun well. */
  readonly errorFrame: string
}

export const retryAfterHeader = (value: RetryAfter | undefined): Record<string, string> =>
  value === undefined ? {} : { "retry-after": value instanceof Date ? value.toUTCString() : String(value) }

export const isRefusal = (read: Asked | Refusal): read is Refusal => "objection" in read
