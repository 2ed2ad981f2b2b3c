/**
 * Records which targets were called and when they last succeeded. Circuits, metrics, spans and logs get target names
 * from here, so that a caller who invents model names can neither fill memory nor put text into telemetry: some
 * providers accept any name, and names in sealed requests are secret.
 */
import { createHash } from "node:crypto"
import { type ApiName, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import { LIST_PRICES } from "../routing/PriceTable.ts"
import type { Provider } from "./Provider.ts"
import type { ModelTarget } from "./Targets.ts"

/** How many unpublished models of one provider are remembered by name. */
export const MAX_NAMED_MODELS = 64

/** Replaces every name that must not be shown. */
export const OTHER = "other"

/** Names that vendors publish reveal nothing about callers. */
const PUBLISHED: ReadonlySet<string> = new Set(LIST_PRICES.map(({ model }) => model))

/** The form of model names and finish reasons, which prose does not have. */
const NAME = /^[\w.:/@+-]{1,128}$/

/** Whether a text from outside has that form, so that it can be shown and kept. */
export const isName = (text: string): boolean => NAME.test(text)

/** A name from outside if it has that form, else {@link OTHER}. */
export const nameOrOther = (text: string): string => (isName(text) ? text : OTHER)

/** Prefix of the keys of unknown models. No model's name begins with it. */
const UNKNOWN = "?"

export interface CalledTarget {
  readonly provider: ProviderId
  /**
   * Identifies the target everywhere: `provider/model`. A model is unknown, and may be invented, if it is neither
   * configured nor published and never succeeded. A hash replaces its name. Calls with a tenant's own key have another
   * key for each tenant: its account may be at fault.
   */
  readonly key: string
}

/** The {@link CalledTarget.key} for calls of one API. A server that lacks one API may serve the others. */
export const keyFor = ({ key }: CalledTarget, api: ApiName): string =>
  api === CHAT_COMPLETIONS ? key : `${key}${API_MARK}${api}`

/** The model or its hash, from the part of a {@link keyFor} key after `provider/`. */
export const modelIn = (name: string): string => name.split(MARKS, 1)[0] ?? name

const API_MARK = "#api="
const TENANT_MARK = "#tenant="
const MARKS = /#(?:api|tenant)=/

/** Whether a {@link CalledTarget.key} belongs to calls with a tenant's own key. */
export const isOfTenant = (key: string): boolean => key.includes(TENANT_MARK)

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

export interface KnownTarget extends CalledTarget {
  readonly model: string
  /** The APIs by which the target was called. */
  readonly apis: Set<ApiName>
  /** In milliseconds since the epoch. */
  lastSuccess: number | undefined
}

export const isUnknownTarget = (key: string): boolean => key.includes(`/${UNKNOWN}`)

export class TargetRegistry {
  private readonly configured = new Map<ProviderId, Set<string>>()
  private readonly known = new Map<ProviderId, Set<string>>()
  private readonly knownTargets = new Map<string, KnownTarget>()
  private readonly successes = new Map<ProviderId, number>()

  constructor(providers: ReadonlyArray<Provider>) {
    this.provide(providers)
  }

  /** Notes the models of providers. Earlier providers stay known, because calls of them may be under way. */
  provide(providers: ReadonlyArray<Provider>): void {
    for (const { defaultModel, id, offers = [] } of providers) {
      for (const models of [this.configured, this.known]) {
        models.set(id, new Set([...(models.get(id) ?? []), defaultModel, ...offers.map(({ name }) => name)]))
      }
    }
  }

  get providers(): ReadonlyArray<ProviderId> {
    return [...this.known.keys()]
  }

  /** The name of a model in telemetry: its own if it is configured or published. */
  label(provider: ProviderId, model: string): string {
    return PUBLISHED.has(model) || this.configured.get(provider)?.has(model) === true ? model : OTHER
  }

  configure({ model, provider }: ModelTarget): void {
    add(this.configured.get(provider.id), model)
    add(this.known.get(provider.id), model)
  }

  called(target: ModelTarget, api: ApiName): CalledTarget {
    const entry = this.entryOf(target)
    this.knownTargets.get(entry.key)?.apis.add(api)
    const { own } = target
    return own === undefined ? entry : { ...entry, key: `${entry.key}${TENANT_MARK}${hashOf(own.tenant)}` }
  }

  private entryOf({ model, provider: { id } }: ModelTarget): CalledTarget {
    if (!PUBLISHED.has(model) && this.known.get(id)?.has(model) !== true) {
      return { provider: id, key: `${id}/${UNKNOWN}${hashOf(model)}` }
    }
    const key = `${id}/${model}`
    const before = this.knownTargets.get(key)
    if (before !== undefined) return before
    const entry: KnownTarget = { provider: id, key, model, apis: new Set<ApiName>(), lastSuccess: undefined }
    this.knownTargets.set(key, entry)
    return entry
  }

  succeeded(target: ModelTarget, now: number): void {
    const { id } = target.provider
    this.successes.set(id, now)
    add(this.known.get(id), target.model)
    const { key } = this.entryOf(target)
    const known = this.knownTargets.get(key)
    if (known !== undefined) known.lastSuccess = now
  }

  /** When any target of a provider last succeeded, in milliseconds since the epoch. */
  lastSuccess(provider: ProviderId): number | undefined {
    return this.successes.get(provider)
  }

  /** The known targets of a provider that were called so far. */
  of(provider: ProviderId): ReadonlyArray<KnownTarget> {
    return [...this.knownTargets.values()].filter((target) => target.provider === provider)
  }
}

const add = (models: Set<string> | undefined, model: string): void => {
  if (models !== undefined && models.size < MAX_NAMED_MODELS && isName(model)) models.add(model)
}
