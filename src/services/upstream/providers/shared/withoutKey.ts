import { Redacted } from "effect"
import { ProviderFailure } from "../../Provider.ts"

/**
 * A failure without the operator's key in it. Callers get to read what a provider said, and providers quote requests,
 * headers included; when they refuse a key they quote parts of it, so then nothing of what they said is passed on.
 */
export const withoutKey =
  (apiKey: Redacted.Redacted) =>
  (found: ProviderFailure): ProviderFailure => {
    if (found.detail === undefined) return found
    const { detail, kind, retryAfterMs, usage } = found
    return new ProviderFailure({
      kind,
      ...(kind === "unauthorized"
        ? {}
        : { detail: Redacted.make(Redacted.value(detail).replaceAll(Redacted.value(apiKey), "[key]")) }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(usage === undefined ? {} : { usage }),
    })
  }
