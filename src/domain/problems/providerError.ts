/** An error in the words of the provider that reports it, for callers whose SDKs know its form. */
import { Schema } from "effect"

export const ProviderError = Schema.Struct({
  /** The HTTP status that it came with, or that it names itself if it came within an answer. */
  status: Schema.optionalKey(Schema.Int),
  /**
   * The vendor's own error object: for OpenAI and Anthropic, what the member `error` of their bodies holds. An error that was
   * no object has its text as `message`.
   */
  error: Schema.Record(Schema.String, Schema.Unknown),
})
export type ProviderError = typeof ProviderError.Type
