/** The report of `/api/v1/routing/providers`: whether each provider can be called now. */
import { Schema } from "effect"
import { FailureKind } from "../upstream/failures.ts"

const Time = Schema.DateTimeUtcFromString
const Circuit = Schema.Literals(["closed", "half-open", "open"]).annotate({
  description: "`open`: not called. `half-open`: the next call decides whether it works again.",
})

export const ProviderHealth = Schema.Struct({
  provider: Schema.String,
  model: Schema.String.annotate({ description: "Its default model." }),
  region: Schema.optionalKey(Schema.String.annotate({ description: "Where it runs, as the operator's file says." })),
  circuit: Circuit,
  fault: Schema.NullOr(
    Schema.Struct({
      since: Time,
      model: Schema.String,
      outcome: FailureKind.annotate({ description: "The same value as in metrics." }),
      reason: Schema.optionalKey(
        Schema.NullOr(Schema.String.annotate({ description: "HTTP status or connection error, if there was one." })),
      ),
      host: Schema.optionalKey(
        Schema.NullOr(Schema.String.annotate({ description: "The server that was called, with its port." })),
      ),
      lasting: Schema.Boolean.annotate({ description: "Whether only the operator can fix it. Others may pass." }),
      fix: Schema.optionalKey(Schema.String.annotate({ description: "What to check." })),
    }),
  ).annotate({
    description: "Why its calls fail, until one succeeds. Administrators see `host`, `reason` and `fix`.",
  }),
  last_failure: Schema.NullOr(
    Schema.Struct({
      at: Time,
      model: Schema.String,
      outcome: Schema.String.annotate({ description: "The kind of failure." }),
    }),
  ).annotate({
    description: "The latest failure among the caller's latest 500 calls.",
  }),
  models: Schema.optionalKey(Schema.Array(Schema.Struct({ model: Schema.String, circuit: Circuit }))).annotate({
    description: "For administrators: the models called since this process started, with their circuits.",
  }),
})
export type ProviderHealth = typeof ProviderHealth.Type

export const ProviderHealthReport = Schema.Struct({ items: Schema.Array(ProviderHealth) }).annotate({
  identifier: "ProviderHealthReport",
})
