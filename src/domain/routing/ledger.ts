/** Entries of the ledger, for billing: one per call of a provider. Amounts are whole micro-USD. */
import { Schema } from "effect"
import { Mode } from "../jobs/modes.ts"
import { Labels } from "./labels.ts"
import { ModelRole, Strategy } from "./routing.ts"

const Tokens = (of: string) => Schema.NullOr(Schema.Natural).annotate({ description: `${of}; \`null\` if unknown.` })

export const LedgerEntry = Schema.Struct({
  id: Schema.String,
  at: Schema.DateTimeUtcFromString.annotate({ description: "When the call began." }),
  request_id: Schema.String.annotate({ description: "The same for a call and its retries and failovers." }),
  tenant: Schema.String.annotate({ description: "The tenant that the call was made for." }),
  key_id: Schema.NullOr(Schema.String).annotate({ description: "The caller's key; `null` if it had a token." }),
  agent_id: Schema.NullOr(Schema.String),
  job_id: Schema.NullOr(Schema.String).annotate({ description: "The job; its texts may be gone." }),
  mode: Schema.NullOr(Mode).annotate({ description: "The job's; `null` without a job." }),
  role: Schema.NullOr(ModelRole).annotate({ description: "The model's in its mode; `null` without a job." }),
  strategy: Strategy,
  provider: Schema.String,
  model: Schema.String,
  served_model: Schema.NullOr(Schema.String).annotate({ description: "The model that the provider named." }),
  input_tokens: Tokens("Tokens of the prompt, cached ones included"),
  output_tokens: Tokens("Tokens of the answer"),
  cached_tokens: Tokens("Tokens of the prompt that the provider read from its cache"),
  cost_micro_usd: Schema.NullOr(Schema.Natural).annotate({ description: "`null` if tokens or price are unknown." }),
  baseline_micro_usd: Schema.NullOr(Schema.Natural).annotate({
    description:
      "Cost of the same tokens at the baseline; 0 for a call that the baseline would not have made. For a cached answer, its first cost.",
  }),
  price_version: Schema.NullOr(Schema.String).annotate({ description: "Version of the prices used." }),
  latency_ms: Schema.Natural.annotate({ description: "From sending to the end of the answer." }),
  estimated: Schema.Boolean.annotate({
    description: "Whether budgets were charged an estimate, because usage is unknown.",
  }),
  own_key: Schema.Boolean.annotate({
    description: "Whether the call was made with the tenant's own key, so that the tenant pays the provider.",
  }),
  labels: Labels.annotate({ description: "Part of the metadata that the caller gave." }),
  outcome: Schema.String.annotate({
    description: "`success`, `cached` for one from the cache, `interrupted`, or the kind of failure.",
  }),
}).annotate({ identifier: "LedgerEntry" })
export type LedgerEntry = typeof LedgerEntry.Type
