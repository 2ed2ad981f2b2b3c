/** The report of `/api/v1/routing/spend`: a tenant's calls by key, agent, model or label. Amounts are whole micro-USD. */
import { Schema } from "effect"
import { MAX_LABEL_NAME } from "./labels.ts"

/** How calls are grouped: `key`, `agent`, `model`, or `label:` and the name of a label. */
export const SpendBy = Schema.String.check(
  Schema.isMaxLength("label:".length + MAX_LABEL_NAME),
  Schema.isPattern(/^(?:key|agent|model|label:[^\p{Cc}\p{Cs}]+)$/u, {
    expected: "key, agent, model, or label: and the name of a label",
  }),
).annotate({ description: "`key`, `agent`, `model`, or `label:` and the name of a label, such as `label:project`." })
export type SpendBy = typeof SpendBy.Type

export const MAX_SPEND_ITEMS = 1000

const sums = {
  calls: Schema.Natural.annotate({ description: "Provider calls, retries and failovers included." }),
  failed_calls: Schema.Natural,
  unpriced_calls: Schema.Natural.annotate({ description: "Calls of unknown cost, which `cost_micro_usd` leaves out." }),
  input_tokens: Schema.Natural,
  output_tokens: Schema.Natural,
  cached_tokens: Schema.Natural,
  cost_micro_usd: Schema.Natural.annotate({ description: "Known cost, failed calls included." }),
}
const Sums = Schema.Struct(sums)
export type SpendOf = typeof Sums.Type

export const SpendReport = Schema.Struct({
  from: Schema.DateTimeUtcFromString.annotate({ description: "`from`, rounded down to a UTC hour." }),
  to: Schema.DateTimeUtcFromString.annotate({ description: "`to`, rounded up to a UTC hour." }),
  by: SpendBy,
  total: Sums.annotate({ description: "All calls of the tenant." }),
  items: Schema.Array(
    Schema.Struct({
      value: Schema.String.annotate({
        description: "The id of the key or agent, `provider/model`, or the label's value.",
      }),
      name: Schema.optionalKey(Schema.String.annotate({ description: "Of a key or agent that still exists." })),
      ...sums,
    }),
  ).annotate({ description: "The dearest first." }),
  rest: Sums.annotate({
    description:
      "`total` without `items`: calls without a key, agent or such a label, values beyond `limit`, and rare values of labels that have too many.",
  }),
}).annotate({ identifier: "SpendReport" })
export type SpendReport = typeof SpendReport.Type
