/** The record of a call through a sealed proxy: enough for `sealgate verify`, without prompt and answer. */
import { Schema } from "effect"

export const KeptReceipt = Schema.Struct({
  receipt: Schema.String.annotate({ description: "A signed statement of what was served." }),
  proof: Schema.String.annotate({ description: "A signed statement that the answer was complete." }),
  keys: Schema.Array(Schema.Record(Schema.String, Schema.String)).annotate({
    description: "The pinned public keys that signed, as JWKs.",
  }),
})
export type KeptReceipt = typeof KeptReceipt.Type
