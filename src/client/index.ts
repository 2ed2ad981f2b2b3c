/** `sealgate/client`: talk to a sealed proxy from Node or a browser, and verify what it signed, also offline. */
export type { ChatChunk, ChatCompletion, ChatInput, Message, Tool, ToolCall, Usage } from "../domain/chat.ts"
export type { Problem } from "../domain/problem.ts"
export type { ProofClaims, PublicJwk, ReceiptClaims } from "../domain/statement.ts"
export { accumulate } from "../domain/chatStream.ts"
export * from "./errors.ts"
export {
  type Fetch,
  type RequestOptions,
  SealedClient,
  type SealedClientOptions,
  type SealedCompletion,
} from "./SealedClient.ts"
export { SealedClientService } from "./SealedClientService.ts"
export { SealedStream, type StreamEnd, type StreamPart } from "./SealedStream.ts"
export { thumbprint, type TrustOptions } from "./trust.ts"
export {
  proveExchange,
  type ProvenExchange,
  type RecordedStream,
  type RevealedExchange,
  verifyProof,
  verifyReceipt,
} from "./verify.ts"
