/** Limits beyond which an answer is garbage: far above what models write, yet low enough to keep many in memory. */
export const LIMITS = {
  /** Maximum size of a whole answer or a whole stream, in bytes. */
  responseBytes: 32 * 1024 * 1024,
  /** Bytes of an answer with embeddings: 2,048 vectors of 4,096 dimensions take 45 million in base64. */
  embeddingsBytes: 48 * 1024 * 1024,
  /** Bytes of an error answer. The rest is not read. */
  errorBytes: 64 * 1024,
  /**
   * Characters of one event of a stream. The largest are partial images of Responses. Sealed, with padding and base64,
   * an event must stay below what clients read, also if each character has three bytes.
   */
  eventChars: 8 * 1024 * 1024,
  /** Maximum number of events of one stream. */
  events: 500_000,
}

export type Limits = Readonly<typeof LIMITS>
