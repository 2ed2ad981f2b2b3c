/** Lasting faults of providers: logged once, and shown in `/ready` until they are fixed. */
import { Duration } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { type FailureKind, failureRules } from "../../domain/upstream/failures.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import type { ProviderFailure } from "./Provider.ts"
import type { Target } from "./Targets.ts"

/** How long the same fault of the same model is not logged again. */
export const REPEAT = Duration.minutes(10)

/** A fault that only the operator can fix. `since` is in milliseconds since the epoch. */
export interface Fault {
  readonly since: number
  /** The label of the model that was called. */
  readonly model: string
  readonly outcome: FailureKind
  readonly reason: string | undefined
  readonly fix: string
}

/** The log line of a failed call. */
interface FaultLine {
  readonly level: "Warn" | "Info" | "Debug"
  readonly annotations: Readonly<Record<string, unknown>>
}

export interface Faults {
  /** Notes a failed call. `now` is in milliseconds since the epoch; `model` is the label of the target's model. */
  readonly failed: (target: Target, model: string, failure: ProviderFailure, now: number) => FaultLine
  readonly succeeded: (provider: ProviderId, model: string) => void
  readonly of: (provider: ProviderId) => Fault | undefined
}

const fixOf = (provider: ProviderId, kind: FailureKind): string => {
  const slot = provider.toUpperCase()
  if (kind === "unauthorized") return `check ${slot}_API_KEY, and the account that it belongs to`
  if (kind === "unknown-model") return `check ${slot}_MODEL, or the targets of the routing`
  return `check ${slot}_BASE_URL`
}

/** Whether only the operator can fix it: neither waiting nor the caller can. */
const isLasting = ({ named }: Target, { kind, lasting }: ProviderFailure): boolean =>
  failureRules[kind].operator || lasting === true || (kind === "unknown-model" && named !== true)

export const makeFaults = (): Faults => {
  const faults = new Map<ProviderId, Fault>()
  /** When each fault was last logged. Bounded: providers, labels, kinds and reasons are from short lists. */
  const logged = new Map<string, number>()

  return {
    failed: (target, model, failure, now) => {
      const { kind, reason } = failure
      const { id, server } = target.provider
      const host = server === undefined ? undefined : `${server.address}:${server.port}`
      const lasting = isLasting(target, failure)
      const fix = lasting ? fixOf(id, kind) : undefined
      if (fix !== undefined) {
        const known = faults.get(id)
        const isSame = known?.outcome === kind && known.model === model && known.reason === reason
        if (!isSame) faults.set(id, { since: now, model, outcome: kind, reason, fix })
      }
      const annotations = withoutUndefined({ host, reason, fix })
      // A failure that concerns the request says nothing about the provider.
      if (!lasting && failureRules[kind].against === undefined) return { level: "Debug", annotations }
      const key = JSON.stringify([id, model, kind, reason])
      if (now - (logged.get(key) ?? -Infinity) < Duration.toMillis(REPEAT)) return { level: "Debug", annotations }
      logged.set(key, now)
      return { level: lasting ? "Warn" : "Info", annotations }
    },
    succeeded: (provider, model) => {
      const known = faults.get(provider)
      if (known !== undefined && (known.outcome !== "unknown-model" || known.model === model)) faults.delete(provider)
    },
    of: (provider) => faults.get(provider),
  }
}
