/** The interface of a vendor's protocol. */
import type { WireName } from "./Asked.ts"
import type { FullAnswer } from "./FullAnswer.ts"
import type { Meaning } from "./Meaning.ts"
import type { Objection, VendorOptions } from "./Reply.ts"

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

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** One vendor's protocol. */
export interface WireFormat {
  readonly name: WireName
  /** Whether a path belongs to it. */
  readonly owns: (path: string) => boolean
  /** The caller's key, if it is where this vendor looks for it. */
  readonly key: (headers: Received["headers"]) => string | undefined
  /** Reads a request, or throws why the vendor would refuse it. */
  readonly read: (received: Received) => Meaning
  readonly whole: (answer: FullAnswer) => unknown
  readonly frames: (answer: FullAnswer, withUsage: boolean) => ReadonlyArray<Frame>
  /** A frame around arbitrary data. */
  readonly frame: (data: string) => string
  /** One more chunk of text, for floods. */
  readonly chunk: (answer: FullAnswer, text: string) => string
  readonly error: (objection: Objection, options?: VendorOptions) => ErrorReply
  /** An error within a stream that had begun well. */
  readonly errorFrame: string
}

export const retryAfterHeader = (seconds: number | undefined): Record<string, string> =>
  seconds === undefined ? {} : { "retry-after": String(seconds) }
