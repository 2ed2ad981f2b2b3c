/**
 * `sealgate-client`: talk to a sealed proxy from Node, Bun, Deno or a browser, and verify what it signed, also offline. It
 * loads neither Effect nor the servers.
 */
export type { ChatChunk, ChatCompletion, ChatInput, Message, Tool, ToolCall, Usage } from "../domain/chat/chatTypes.ts"
export type { Problem } from "../domain/problems/problemTypes.ts"
export type { ProofClaims, PublicJwk, ReceiptClaims } from "../domain/protocol/statement.ts"
export type { ApiName } from "../domain/upstream/apis.ts"
export { accumulate } from "../domain/chat/chatStream.ts"
export * from "./errors.ts"
export type { Policy, ProvenCode } from "./attestation/Policy.ts"
export type { VerifiedFrame } from "./sealed/ResponseOpener.ts"
export {
  type Fetch,
  type RequestBody,
  type RequestOptions,
  type SealedAnswer,
  SealedClient,
  type SealedClientOptions,
  type SealedCompletion,
} from "./sealed/SealedClient.ts"
export { createSealedFetch, type SealedFetchOptions, type VerifiedAnswer } from "./sdk/sealedFetch.ts"
export { deltaText } from "./sealed/deltaText.ts"
export type { ChatEnd, ChatStream, EventStream } from "./sealed/joins.ts"
export type { SealedStream, StreamEnd } from "./sealed/SealedStream.ts"
export type { ProvenExchange } from "./verification/provenAnswer.ts"
export type { StreamPart } from "./sealed/streamParts.ts"
export { thumbprint, type TrustOptions } from "./verification/trust.ts"
export {
  type Evidence,
  proveExchange,
  type RecordedStream,
  type RevealedExchange,
  type VerifiedEvidence,
  verifyEvidence,
  verifyProof,
  verifyReceipt,
} from "./verification/verify.ts"
