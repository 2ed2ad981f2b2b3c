/** What is inside a sealed request (sealed protocol §4.1). */
import { Schema } from "effect"
import { ChatInput } from "./chat.ts"

export const SealedRequest = Schema.Struct({
  /** Chosen by the client; names the request in the receipt. */
  request_id: Schema.String.check(Schema.isUUID()),
  /** Milliseconds since the epoch on the session's calibrated clock. */
  issued_at: Schema.Int,
  /** Which provider must serve the request. */
  provider: Schema.optionalKey(Schema.NonEmptyString),
  /** Whether a stream may begin again after a chunk of it was sealed; by default it may. */
  restart: Schema.optionalKey(Schema.Boolean),
  completion: ChatInput,
})
export type SealedRequest = typeof SealedRequest.Type
