import { Redacted } from "effect"
import { ProviderFailure } from "../../Provider.ts"
import { defined } from "../../../../domain/defined.ts"

/** The longest detail of a failure, in characters: long enough for any message, too short to repeat a whole prompt. */
const DETAIL_CHARS = 2000

/**
 * A failure without the operator's key in it. Callers may read what a provider said, and providers quote requests,
 * headers included. When they refuse a key they quote parts of it, so then nothing that they said is passed on. The
 * rest is cut to a bounded length after the key is removed, because a cut through the key would leave a part of it.
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
