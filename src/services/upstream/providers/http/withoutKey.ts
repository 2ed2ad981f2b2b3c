import { Redacted } from "effect"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import type { ProviderError } from "../../../../domain/problems/providerError.ts"
import { ProviderFailure } from "../../Provider.ts"

/** The longest text of a failure, in characters: long enough for any message, too short to repeat a whole prompt. */
const TEXT_CHARS = 2000

/** The members of an error object that all vendors' SDKs look at. */
const MEMBERS = ["type", "code", "message", "param"] as const

/**
 * A failure without the operator's key in it. Callers may read what a provider said, and providers quote requests,
 * headers included. When they refuse a key they quote parts of it, so then nothing that they said is passed on. The
 * rest is cut to a bounded length after the key is removed, because a cut through the key would leave a part of it.
 */
export const withoutKey = (apiKey: Redacted.Redacted) => {
  const clean = (text: string) => text.replaceAll(Redacted.value(apiKey), "[key]").slice(0, TEXT_CHARS)
  return (found: ProviderFailure): ProviderFailure => {
    if (found.detail === undefined && found.said === undefined) return found
    const { detail, errors, kind, lasting, reason, retryAfterMs, said, usage } = found
    return new ProviderFailure({
      kind,
      ...(kind === "unauthorized" || detail === undefined
        ? {}
        : { detail: Redacted.make(clean(Redacted.value(detail))) }),
      ...(kind === "unauthorized" || said === undefined
        ? {}
        : { said: Redacted.make(cleanError(Redacted.value(said), clean)) }),
      ...withoutUndefined({ errors, lasting, reason, retryAfterMs, usage }),
    })
  }
}

/** What SDKs look at of an error; other members may hold anything, and as much of it as they like. */
const cleanError = ({ error, status }: ProviderError, clean: (text: string) => string): ProviderError => {
  const members: Array<readonly [string, JsonObject[string]]> = []
  for (const name of MEMBERS) {
    const value = error[name]
    if (value === undefined || isObject(value) || Array.isArray(value)) continue
    members.push([name, typeof value === "string" ? clean(value) : value])
  }
  return { ...withoutUndefined({ status }), error: Object.fromEntries(members) }
}
