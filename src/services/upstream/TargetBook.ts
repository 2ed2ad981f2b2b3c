/**
 * Which targets were called and when they last served. Circuits, metrics, spans and logs name targets through it, so
 * that a caller who invents model names can neither fill memory nor get text into telemetry: some providers serve
 * whatever name they are asked for, and what a sealed request asks for is sealed.
 */
import { PUBLISHED_MODELS } from "../../domain/publishedModels.ts"
import type { ProviderId } from "../../domain/upstream.ts"
import type { Provider } from "./Provider.ts"
import type { Target } from "./Targets.ts"

/** Models of one provider that get a circuit of their own; the rest share one. */
export const MAX_NAMED_MODELS = 64

/** Stands for every model that has no name here, and for what is no name. */
export const OTHER = "other"

const PUBLISHED: ReadonlySet<string> = new Set(PUBLISHED_MODELS)

/** What names of models and finish reasons look like: no text that somebody wrote passes for one. */
const NAME = /^[\w.:/@+-]{1,128}$/

/** A name from outside if it is safe to show, else {@link OTHER}. */
export const nameOrOther = (text: string): string => (NAME.test(text) ? text : OTHER)

export interface CalledTarget {
  readonly provider: ProviderId
  /** Its model, or {@link OTHER} for those that share a circuit. For this process alone. */
  readonly model: string
  /** What telemetry calls its model. */
  readonly label: string
  /** Identifies the target's circuit. */
  readonly key: string
  /** In milliseconds since the epoch. */
  lastSuccess: number | undefined
}

export class TargetBook {
  private readonly configured: ReadonlyMap<ProviderId, Set<string>>
  private readonly known: ReadonlyMap<ProviderId, Set<string>>
  private readonly calledTargets = new Map<string, CalledTarget>()

  constructor(providers: ReadonlyArray<Provider>) {
    const defaults = () => new Map(providers.map(({ defaultModel, id }) => [id, new Set([defaultModel])]))
    this.configured = defaults()
    this.known = defaults()
  }

  get providers(): ReadonlyArray<ProviderId> {
    return [...this.known.keys()]
  }

  /** What telemetry calls the target's model: its name if an operator configured it or its vendor published it. */
  label({ model, provider }: Target): string {
    return PUBLISHED.has(model) || this.configured.get(provider.id)?.has(model) === true ? model : OTHER
  }

  /** Notes that the configuration names a target. */
  configure(target: Target): void {
    add(this.configured.get(target.provider.id), target.model)
    add(this.known.get(target.provider.id), target.model)
  }

  /** Notes that a target is called. */
  called(target: Target): CalledTarget {
    const model = this.known.get(target.provider.id)?.has(target.model) === true ? target.model : OTHER
    const key = `${target.provider.id}/${model}`
    const before = this.calledTargets.get(key)
    if (before !== undefined) return before
    const label = model === OTHER ? OTHER : this.label(target)
    const entry = { provider: target.provider.id, model, label, key, lastSuccess: undefined }
    this.calledTargets.set(key, entry)
    return entry
  }

  /** Notes that a target served at `now`. */
  succeeded(target: Target, now: number): void {
    add(this.known.get(target.provider.id), target.model)
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

const add = (models: Set<string> | undefined, model: string): void => {
  if (models !== undefined && models.size < MAX_NAMED_MODELS && NAME.test(model)) models.add(model)
}
