/** Concurrency keys: a bound on how many jobs that share one run at the same time. */
import { Schema } from "effect"

const MAX_CONCURRENCY = 100

const MAX_KEY = 255

const Key = Schema.String.check(
  Schema.isMaxLength(MAX_KEY),
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" }),
).annotate({ description: "Any name, such as `deploy-prod`; each tenant has its own." })
const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_CONCURRENCY })).annotate({
  description: "How many; default: 1.",
})

export const Concurrency = Schema.Struct({ key: Key, limit: Schema.optionalKey(Limit) }).annotate({
  description:
    "At most `limit` jobs with the same `key` run at the same time. The others wait in their order; a job that began keeps its place until it ends, also between attempts and while it waits for a person.",
})

/** The same with its limit, as jobs show it. */
export const JobConcurrency = Schema.Struct({ key: Key, limit: Limit }).annotate({
  description: "How many jobs with its `key` run at the same time.",
})
