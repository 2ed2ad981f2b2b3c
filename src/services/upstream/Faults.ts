/** Faults of providers: logged when they begin and when they end, and shown in `/ready` meanwhile. */
import { Duration } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { type FailureKind, failureRules } from "../../domain/upstream/failures.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import type { ProviderFailure } from "./Provider.ts"
import { PROVIDER_IDS } from "./Slots.ts"
import type { ModelTarget } from "./Targets.ts"

/** Minimum time between two log lines about the same fault, so that one that comes and goes does not fill the log. */
export const REPEAT = Duration.minutes(10)

/**
 * Returns whether to log a fault at `now`: it was not logged within {@link REPEAT}. Its memory is bounded if the parts
 * of keys are from short lists.
 */
export const makeRepeats = () => {
  const logged = new Map<string, number>()
  return (now: number, ...parts: ReadonlyArray<string | undefined>): boolean => {
    const key = JSON.stringify(parts)
    const isDue = now - (logged.get(key) ?? -Infinity) >= Duration.toMillis(REPEAT)
    if (isDue) logged.set(key, now)
    return isDue
  }
}

/** The latest failure of a model since its last success. `since` is in milliseconds since the epoch. */
export interface Fault {
  readonly since: number
  /** The label of the model that was called. */
  readonly model: string
  /** The server that was called, with its port. */
  readonly host: string | undefined
  readonly outcome: FailureKind
  readonly reason: string | undefined
  /** Whether only the operator can fix it. Neither waiting nor a change by the caller helps. */
  readonly lasting: boolean
  readonly fix: string
}

/** The log line of a failed call. */
interface FaultLine {
  readonly level: "Warn" | "Info" | "Debug"
  readonly annotations: Readonly<Record<string, unknown>>
}

export interface Faults {
  /** Notes a failed call. `now` is in milliseconds since the epoch; `model` is the label of the target's model. */
  readonly failed: (target: ModelTarget, model: string, failure: ProviderFailure, now: number) => FaultLine
  /** Notes a call that succeeded. Returns the faults that this ends and whose beginning was logged. */
  readonly succeeded: (target: ModelTarget, model: string) => ReadonlyArray<Fault>
  /** The fault to show of a provider: the latest one, but first those that only the operator can fix. */
  readonly of: (provider: ProviderId) => Fault | undefined
}

const fixOf = (provider: ProviderId, kind: FailureKind, lasting: boolean): string => {
  const slot = provider.toUpperCase()
  const [key, model, url] = PROVIDER_IDS.has(provider)
    ? [`${slot}_API_KEY`, `${slot}_MODEL`, `${slot}_BASE_URL`]
    : ["its key in PROVIDERS_FILE", "its models in PROVIDERS_FILE", "its base_url in PROVIDERS_FILE"]
  if (kind === "unauthorized") return `check ${key}, and the account that it belongs to`
  if (kind === "unknown-model") return `check ${model}, or the targets of the routing`
  if (kind === "rate-limited") return "lower the load, or raise the limit of the account"
  if (failureRules[kind].against === "provider") return `check ${url}, DNS, the certificate and the firewall`
  if (lasting) return `check ${url}`
  if (kind === "garbage") return `check ${url}, and the provider's status page`
  return "check the provider's status page"
}

const isLasting = ({ named }: ModelTarget, { kind, lasting }: ProviderFailure): boolean =>
  failureRules[kind].operator || lasting === true || (kind === "unknown-model" && named !== true)

/** Failures that may concern only the account. On a tenant's own account they are no faults, and its successes end none. */
const OF_ACCOUNT: ReadonlySet<FailureKind> = new Set(["unauthorized", "rate-limited", "unknown-model"])

/** Whether the fault concerns one model only, so that the success of another one does not end it. */
const isOfModel = ({ outcome }: Fault): boolean =>
  outcome === "unknown-model" || ["target", "pace"].includes(failureRules[outcome].against ?? "")

interface Open {
  readonly fault: Fault
  readonly isLogged: boolean
}

const NONE: ReadonlyArray<Fault> = []

export const makeFaults = (): Faults => {
  /** By provider and label, in the order in which they began. Bounded: both are from short lists. */
  const open = new Map<ProviderId, Map<string, Open>>()
  const isDueAt = makeRepeats()

  return {
    failed: (target, model, failure, now) => {
      const { kind, reason } = failure
      const { id, server } = target.provider
      const host = server === undefined ? undefined : `${server.address}:${server.port}`
      const lasting = isLasting(target, failure)
      // A failure that concerns the request says nothing about the provider.
      const isOfRequest = !lasting && failureRules[kind].against === undefined
      if (isOfRequest || (target.own !== undefined && OF_ACCOUNT.has(kind))) {
        return { level: "Debug", annotations: withoutUndefined({ host, reason }) }
      }
      const ofProvider = open.get(id) ?? new Map<string, Open>()
      open.set(id, ofProvider)
      const known = ofProvider.get(model)
      const isSame = known?.fault.outcome === kind && known.fault.reason === reason
      const fix = fixOf(id, kind, lasting)
      const annotations = withoutUndefined({ host, reason, fix })
      if (isSame) return { level: "Debug", annotations }
      const isDue = isDueAt(now, id, model, kind, reason)
      const fault = { since: known?.fault.since ?? now, model, host, outcome: kind, reason, lasting, fix }
      ofProvider.delete(model)
      ofProvider.set(model, { fault, isLogged: isDue || known?.isLogged === true })
      return { level: isDue ? (lasting ? "Warn" : "Info") : "Debug", annotations }
    },
    succeeded: ({ own, provider }, model) => {
      const ofProvider = open.get(provider.id)
      if (ofProvider === undefined || ofProvider.size === 0) return NONE
      const ended = [...ofProvider.values()].filter(
        ({ fault }) =>
          (fault.model === model || !isOfModel(fault)) && (own === undefined || !OF_ACCOUNT.has(fault.outcome)),
      )
      for (const { fault } of ended) ofProvider.delete(fault.model)
      return ended.filter(({ isLogged }) => isLogged).map(({ fault }) => fault)
    },
    of: (provider) => {
      const faults = [...(open.get(provider)?.values() ?? [])].map(({ fault }) => fault)
      return faults.findLast(({ lasting }) => lasting) ?? faults.at(-1)
    },
  }
}
