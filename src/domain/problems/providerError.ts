/** A provider's own error, for callers whose SDKs know its form. */
import { Schema } from "effect"

export const ProviderError = Schema.Struct({
  /** The HTTP status of the response, or the one in the error if it came within an answer. */
  status: Schema.optionalKey(Schema.Int),
  /** The vendor's error object, as OpenAI's and Anthropic's `error`; one that is not an object becomes `message`. */
  error: Schema.Record(Schema.String, Schema.Unknown),
})
export type ProviderError = typeof ProviderError.Type
