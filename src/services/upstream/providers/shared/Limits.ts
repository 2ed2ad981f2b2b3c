/** The limits of an answer, beyond which it counts as garbage. */

export interface Limits {
  /** Bytes of a whole answer, or of a whole stream. */
  readonly responseBytes: number
  /** Bytes of an error answer. The rest is not read. */
  readonly errorBytes: number
  /** Characters of one event of a stream. */
  readonly eventChars: number
  /** Events of one stream. */
  readonly events: number
}

/** Far more than models write today (some 128,000 tokens), yet small enough to keep many answers in memory. */
export const LIMITS: Limits = {
  responseBytes: 32 * 1024 * 1024,
  errorBytes: 64 * 1024,
  eventChars: 1024 * 1024,
  events: 500_000,
}
