/** Names of targets, and which of them somebody may use. */
import { Schema } from "effect"
import { ProviderId } from "./upstream.ts"

const MAX_MODEL = 256
const MAX_PATTERNS = 64
const MAX_PATTERN = 256

/** Postgres keeps no text with U+0000 in it, and a call has to be in the ledger under its model's name. */
const PRINTABLE = Schema.isPattern(/^[\x20-\x7e\x80-\uffff]*$/, { expected: "no control characters" })

/** A model at a provider; its name has up to 256 characters. */
export const TargetName = Schema.Struct({
  provider: ProviderId,
  model: Schema.String.check(Schema.isBetweenLength(1, MAX_MODEL), PRINTABLE),
})
export type TargetName = typeof TargetName.Type

/** Whether two names mean the same model at the same provider. */
export const sameTarget = (a: TargetName, b: TargetName): boolean => a.provider === b.provider && a.model === b.model

const Patterns = Schema.Array(Schema.String.check(Schema.isBetweenLength(1, MAX_PATTERN))).check(
  Schema.isMaxLength(MAX_PATTERNS),
)

/**
 * Which targets may be used. A pattern is matched against `provider/model`, the model, and the provider; `*` stands
 * for any text. What `deny` matches is out, whatever `allow` says; without `allow` everything else is in. Both have up to
 * 64 patterns of up to 256 characters: every call of a model matches them all against every target.
 */
export const TargetFilter = Schema.Struct({
  allow: Schema.optionalKey(Patterns),
  deny: Schema.optionalKey(Patterns),
})
export type TargetFilter = typeof TargetFilter.Type

/**
 * Whether `text` matches `pattern`. Each part between two `*` is searched for once, behind the one before it. Patterns
 * come from tenants, and compiled to regular expressions some of them would take exponential time.
 */
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

/** Whether `filter` lets `target` through; no filter lets everything through. */
export const permits = (filter: TargetFilter | undefined, target: TargetName): boolean =>
  filter === undefined ||
  (!anyMatches(filter.deny ?? [], target) && (filter.allow === undefined || anyMatches(filter.allow, target)))
