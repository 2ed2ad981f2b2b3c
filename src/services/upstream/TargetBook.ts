/**
 * Which targets were called and when they last served. Circuits, metrics and spans name targets through it, so that a
 * caller who invents model names can neither fill memory nor get free text into telemetry.
 */
import type { ProviderId } from "../../domain/upstream.ts"
import type { Provider } from "./Provider.ts"
import type { Target } from "./Targets.ts"

/** Models of one provider that get a circuit and a series of their own; the rest share one. */
export const MAX_NAMED_MODELS = 64

/** Stands for every model that is neither configured nor has ever served, and for what is no name. */
export const OTHER = "other"

/** What names of models and finish reasons look like: no text that somebody wrote passes for one. */
const NAME = /^[\w.:/@+-]{1,128}$/

/** A name from outside if it is safe to show, else {@link OTHER}. */
export const nameOrOther = (text: string): string => (NAME.test(text) ? text : OTHER)

export interface CalledTarget {
  readonly provider: ProviderId
  /** Its label. */
  readonly model: string
  /** Identifies the target's circuit. */
  readonly key: string
  /** In milliseconds since the epoch. */
  lastSuccess: number | undefined
}

export class TargetBook {
  private readonly known: ReadonlyMap<ProviderId, Set<string>>
  private readonly calledTargets = new Map<string, CalledTarget>()

  constructor(providers: ReadonlyArray<Provider>) {
    this.known = new Map(providers.map(({ defaultModel, id }) => [id, new Set([defaultModel])]))
  }

  get providers(): ReadonlyArray<ProviderId> {
    return [...this.known.keys()]
  }

  /** The target's model if that is safe to show, else {@link OTHER}. */
  label({ model, provider }: Target): string {
    return this.known.get(provider.id)?.has(model) === true ? model : OTHER
  }

  /** Gives a model its own name from now on: it is in the configuration, or it served. */
  learn({ model, provider }: Target): void {
    const models = this.known.get(provider.id)
    if (models !== undefined && models.size < MAX_NAMED_MODELS && NAME.test(model)) models.add(model)
  }

  /** Notes that a target is called. */
  called(target: Target): CalledTarget {
    const model = this.label(target)
    const key = `${target.provider.id}/${model}`
    const before = this.calledTargets.get(key)
    if (before !== undefined) return before
    const entry = { provider: target.provider.id, model, key, lastSuccess: undefined }
    this.calledTargets.set(key, entry)
    return entry
  }

  /** Notes that a target served at `now`. */
  succeeded(target: Target, now: number): void {
    this.learn(target)
    this.called(target).lastSuccess = now
  }

  /** The target whose circuit has this key. */
  byKey(key: string): CalledTarget | undefined {
    return this.calledTargets.get(key)
  }

  /** The targets of a provider that were called so far. */
  of(provider: ProviderId): ReadonlyArray<CalledTarget> {
    return [...this.calledTargets.values()].filter((target) => target.provider === provider)
  }
}
