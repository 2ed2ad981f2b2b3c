/**
 * `sealgate-client`: talk to a sealed proxy from Node, Bun, Deno or a browser, and verify what it signed, also offline. It loads
 * neither Effect nor the servers.
 */
export type { ChatChunk, ChatCompletion, ChatInput, Message, Tool, ToolCall, Usage } from "../domain/chatTypes.ts"
export type { Problem } from "../domain/problemTypes.ts"
export type { ProofClaims, PublicJwk, ReceiptClaims } from "../domain/statement.ts"
export type { ApiName } from "../domain/apis.ts"
export { accumulate } from "../domain/chatStream.ts"
export * from "./errors.ts"
export type { VerifiedFrame } from "./ResponseOpener.ts"
export {
  type Fetch,
  type RequestBody,
  type RequestOptions,
  type SealedAnswer,
  SealedClient,
  type SealedClientOptions,
  type SealedCompletion,
} from "./SealedClient.ts"
export { createSealedFetch, type SealedFetchOptions, type VerifiedAnswer } from "./sealedFetch.ts"
export { deltaText } from "./deltaText.ts"
export type { ChatEnd, ChatStream, EventStream } from "./joins.ts"
export type { SealedStream, StreamEnd } from "./SealedStream.ts"
export type { ProvenExchange } from "./provenAnswer.ts"
export type { StreamPart } from "./streamParts.ts"
export { thumbprint, type TrustOptions } from "./trust.ts"
export {
  type Evidence,
  proveExchange,
  type RecordedStream,
  type RevealedExchange,
  type VerifiedEvidence,
  verifyEvidence,
  verifyProof,
  verifyReceipt,
} from "./verify.ts"
