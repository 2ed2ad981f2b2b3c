/**
 * `sealgate/client`: talk to a sealed proxy or an agent gateway from Node or a browser, and verify what the proxy signed,
 * also offline.
 */
export type { ChatChunk, ChatCompletion, ChatInput, Message, Tool, ToolCall, Usage } from "../domain/chat.ts"
export type { Problem } from "../domain/problem.ts"
export type { ProofClaims, PublicJwk, ReceiptClaims } from "../domain/statement.ts"
export type { ApiName } from "../domain/apis.ts"
export { accumulate } from "../domain/chatStream.ts"
export * from "./errors.ts"
export { type Agent, GatewayClient, type RoutingSettings, type RoutingStats } from "./GatewayClient.ts"
export type { Page } from "./gatewayCalls.ts"
export type { Job, JobEvent, JobHandle, Step } from "./GatewayJobs.ts"
export { type GatewayClientOptions, GatewayClientService } from "./GatewayClientService.ts"
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
export { SealedClientError, SealedClientService, type StreamElement } from "./SealedClientService.ts"
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
