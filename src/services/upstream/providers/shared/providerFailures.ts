/** Makes failures of providers. */
import { Redacted } from "effect"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import type { FailureKind } from "../../../../domain/upstream/failures.ts"
import type { Usage } from "../../../../domain/chat/chat.ts"
import type { ProviderError } from "../../../../domain/problems/providerError.ts"
import { ProviderFailure } from "../../Provider.ts"

interface FailureRest {
  readonly said?: ProviderError | undefined
  readonly retryAfterMs?: number | undefined
  readonly usage?: Usage | undefined
  readonly reason?: string | undefined
  readonly lasting?: boolean | undefined
}

/** Makes a failure of `kind`. `detail` may quote anything, and is redacted here. */
export const failure = (kind: FailureKind, detail?: string, { said, ...rest }: FailureRest = {}): ProviderFailure =>
  new ProviderFailure({
    kind,
    ...(detail === undefined ? {} : { detail: Redacted.make(detail) }),
    ...(said === undefined ? {} : { said: Redacted.make(said) }),
    ...withoutUndefined(rest),
  })

/** Adds the tokens that the call cost to a failure that does not name them. */
export const withUsage = (found: ProviderFailure, usage: Usage | undefined): ProviderFailure =>
  usage === undefined || found.usage !== undefined ? found : new ProviderFailure({ ...found, usage })

/** A response that violates its format. The log gets `reason`, so only `detail` may quote the response. */
export const garbage = (reason: string, detail = reason): ProviderFailure => failure("garbage", detail, { reason })
