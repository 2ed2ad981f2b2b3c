import { Redacted } from "effect"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import type { ProviderError } from "../../../../domain/problems/providerError.ts"
import { ProviderFailure } from "../../Provider.ts"

/** The longest text of a failure in characters: enough for any message, too short for a whole prompt. */
export const TEXT_CHARS = 2000

/** The members of an error object that vendors' SDKs read. */
const MEMBERS = ["type", "code", "message", "param"] as const

/**
 * Removes the operator's key from a failure. Callers may read the provider's words, and providers quote requests,
 * headers included. When they refuse a key they quote parts of it, so then none of their words are passed on. Otherwise
 * the text is cut to a bounded length after the key is removed, because a cut through the key would leave a part of it.
 */
export const withoutKey = (apiKey: Redacted.Redacted) => {
  const clean = (text: string) => text.replaceAll(Redacted.value(apiKey), "[key]").slice(0, TEXT_CHARS)
  return (found: ProviderFailure): ProviderFailure => {
    if (found.detail === undefined && found.said === undefined) return found
    const { detail, said, ...rest } = found
    if (found.kind === "unauthorized") return new ProviderFailure(rest)
    return new ProviderFailure({
      ...rest,
      ...(detail === undefined ? {} : { detail: Redacted.make(clean(Redacted.value(detail))) }),
      ...(said === undefined ? {} : { said: Redacted.make(cleanError(Redacted.value(said), clean)) }),
    })
  }
}

/** Keeps the members that SDKs read. Others may hold anything, at any length. */
const cleanError = ({ error, status }: ProviderError, clean: (text: string) => string): ProviderError => {
  const members: Array<readonly [string, JsonObject[string]]> = []
  for (const name of MEMBERS) {
    const value = error[name]
    if (value === undefined || isObject(value) || Array.isArray(value)) continue
    members.push([name, typeof value === "string" ? clean(value) : value])
  }
  return { ...withoutUndefined({ status }), error: Object.fromEntries(members) }
}
