/**
 * What is kept of a call that went through a sealed proxy: enough for `sealgate verify`, but neither prompt nor answer.
 */
import { Schema } from "effect"

export const KeptReceipt = Schema.Struct({
  /** Signed statements: what was served, and that it came whole. */
  receipt: Schema.String,
  proof: Schema.String,
  /** Public parts of the pinned keys that signed, as JWKs. */
  keys: Schema.Array(Schema.Record(Schema.String, Schema.String)),
})
export type KeptReceipt = typeof KeptReceipt.Type
