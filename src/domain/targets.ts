/** Names of targets, and which of them somebody may use. */
import { Schema } from "effect"
import { ProviderId } from "./upstream.ts"

/** A model at a provider. */
export const TargetName = Schema.Struct({ provider: ProviderId, model: Schema.NonEmptyString })
export type TargetName = typeof TargetName.Type

/** Whether two names mean the same model at the same provider. */
export const sameTarget = (a: TargetName, b: TargetName): boolean => a.provider === b.provider && a.model === b.model

/**
 * Which targets may be used. A pattern is matched against `provider/model`, the model, and the provider; `*` stands
 * for any text. What `deny` matches is out, whatever `allow` says; without `allow` everything else is in.
 */
export const TargetFilter = Schema.Struct({
  allow: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
  deny: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
})
export type TargetFilter = typeof TargetFilter.Type

/**
 * Whether `text` is what `pattern` describes. Linear in the length of both for every `*`: patterns come from tenants,
 * and as regular expressions some of them would take for ever.
 */
const matches = (pattern: string, text: string): boolean => {
  const [head = "", ...parts] = pattern.split("*")
  const tail = parts.pop()
  if (tail === undefined) return text === head
  if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length) return false
  const end = text.length - tail.length
  let position = head.length
  for (const part of parts) {
    const found = text.indexOf(part, position)
    if (found === -1 || found + part.length > end) return false
    position = found + part.length
  }
  return true
}

const anyMatches = (patterns: ReadonlyArray<string>, { model, provider }: TargetName): boolean =>
  patterns.some((pattern) => [`${provider}/${model}`, model, provider].some((text) => matches(pattern, text)))

/** Whether `filter` lets `target` through; no filter lets everything through. */
export const permits = (filter: TargetFilter | undefined, target: TargetName): boolean =>
  filter === undefined ||
  (!anyMatches(filter.deny ?? [], target) && (filter.allow === undefined || anyMatches(filter.allow, target)))
