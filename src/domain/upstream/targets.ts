/** Names of targets, and filters that permit them. */
import { Schema } from "effect"
import { ProviderId } from "./upstream.ts"

/** Longest name of a model, in UTF-16 code units. */
export const MAX_MODEL = 256
const MAX_PATTERNS = 64
const MAX_PATTERN = 256

/** Postgres cannot store U+0000, and the ledger stores the model's name. */
const PRINTABLE = Schema.isPattern(/^[\x20-\x7e\x80-\uffff]*$/, { expected: "no control characters" })

export const ModelName = Schema.String.check(Schema.isBetweenLength(1, MAX_MODEL), PRINTABLE)

export const TargetName = Schema.Struct({ provider: ProviderId, model: ModelName })
export type TargetName = typeof TargetName.Type

/** A target as one text. */
export const nameOf = ({ model, provider }: TargetName): string => `${provider}/${model}`

export const sameTarget = (a: TargetName, b: TargetName): boolean => a.provider === b.provider && a.model === b.model

/** The model without the vendor that resellers put before it: `gpt-5` for `openai/gpt-5`. */
export const modelOf = ({ model }: TargetName): string => model.slice(model.lastIndexOf("/") + 1)

/** Whether two targets have the same model, possibly at two providers. Their answers to one question are not independent. */
export const sameModel = (a: TargetName, b: TargetName): boolean => modelOf(a) === modelOf(b)

const Patterns = Schema.Array(Schema.String.check(Schema.isBetweenLength(1, MAX_PATTERN))).check(
  Schema.isMaxLength(MAX_PATTERNS),
)

/** Which targets may be used. Patterns are bounded because every model call matches all of them against every target. */
export const TargetFilter = Schema.Struct({
  allow: Schema.optionalKey(
    Patterns.check(Schema.isMinLength(1)).annotate({
      description:
        "Patterns for `provider/model`, the model or the provider; `*` matches any text. Without it, every target is allowed.",
    }),
  ),
  deny: Schema.optionalKey(
    Patterns.annotate({ description: "Patterns as in `allow`, over which it takes precedence." }),
  ),
})
export type TargetFilter = typeof TargetFilter.Type

/** Whether `text` matches `pattern`, in linear time: as regular expressions, patterns of tenants could be costly. */
const matches = (pattern: string, text: string): boolean => {
  const first = pattern.indexOf("*")
  if (first === -1) return text === pattern
  const last = pattern.lastIndexOf("*")
  const end = text.length - (pattern.length - 1 - last)
  if (end < first || !text.startsWith(pattern.slice(0, first)) || !text.endsWith(pattern.slice(last + 1))) return false
  let position = first
  let star = first
  while (star < last) {
    const next = pattern.indexOf("*", star + 1)
    if (next > star + 1) {
      const found = text.indexOf(pattern.slice(star + 1, next), position)
      position = found + next - star - 1
      if (found === -1 || position > end) return false
    }
    star = next
  }
  return true
}

const anyMatches = (patterns: ReadonlyArray<string>, { model, provider }: TargetName): boolean =>
  patterns.some((pattern) => [`${provider}/${model}`, model, provider].some((text) => matches(pattern, text)))

/** Whether `filter` permits `target`. Without a filter, every target is permitted. */
export const permits = (filter: TargetFilter | undefined, target: TargetName): boolean =>
  filter === undefined ||
  (!anyMatches(filter.deny ?? [], target) && (filter.allow === undefined || anyMatches(filter.allow, target)))
