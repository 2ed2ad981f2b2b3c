import { Redacted } from "effect"
import { ProviderFailure } from "../../Provider.ts"
import { defined } from "../../../../domain/defined.ts"

/** Most characters of a failure's detail: enough for any message, too little to echo a prompt in full. */
const DETAIL_CHARS = 2000

/**
 * A failure without the operator's key in it. Callers get to read what a provider said, and providers quote requests,
 * headers included; when they refuse a key they quote parts of it, so then nothing of what they said is passed on. What
 * is passed on is cut to a bounded length, which must come last: a cut through the key would leave a part of it.
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
        : {
            detail: Redacted.make(
              Redacted.value(detail).replaceAll(Redacted.value(apiKey), "[key]").slice(0, DETAIL_CHARS),
            ),
          }),
      ...defined({ retryAfterMs, usage }),
    })
  }
