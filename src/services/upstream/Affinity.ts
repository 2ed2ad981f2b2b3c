/**
 * Keeps the turns of a conversation where they were answered: providers cache what a request begins with, each for itself.
 *
 * Conversations follow the order of providers, so only those are remembered that had to leave it. They stay where they
 * went when what they left works again: going back would find a cache that lacks the turns since.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Clock, Duration, Effect } from "effect"
import { conversationName } from "../../domain/conversation.ts"
import type { ApiRequest, ProviderId, UpstreamRequest } from "../../domain/upstream.ts"
import { apiNameOf, modelOf, type Target } from "./Targets.ts"
import { countTurn } from "./UpstreamMetrics.ts"

/** Conversations that are remembered at once: each takes some 200 bytes. */
export const MAX_MOVED = 20_000

/** How long after its last turn a conversation is remembered: as long as providers keep what they cached. */
export const KEPT_FOR = Duration.hours(1)

interface Moved {
  readonly provider: ProviderId
  /** In milliseconds since the epoch. */
  readonly until: number
}

/** One request as a turn of its conversation. */
export interface Turn {
  /** The targets of the request, with the one first to which its conversation went. */
  readonly targets: ReadonlyArray<Target>
  /** Notes which target answered. */
  readonly answered: (by: Target) => Effect.Effect<void>
}

export interface Affinity {
  /** `targets` are those of the request, in the order that holds for conversations that went nowhere else. */
  readonly turn: (request: UpstreamRequest | ApiRequest, targets: ReadonlyArray<Target>) => Effect.Effect<Turn>
}

export const makeAffinity = (): Affinity => {
  // Keyed, so that what is in memory tells nothing to whoever does not know both.
  const key = randomBytes(32)
  /** By a hash of what a conversation is known by, in the order of their last turns. */
  const moved = new Map<string, Moved>()

  const forget = (now: number): void => {
    for (const [id, { until }] of moved) {
      if (until > now && moved.size <= MAX_MOVED) return
      moved.delete(id)
    }
  }

  const remember = (id: string, provider: ProviderId, now: number): void => {
    moved.delete(id)
    moved.set(id, { provider, until: now + Duration.toMillis(KEPT_FOR) })
    forget(now)
  }

  /** A conversation of one caller with one model by one API; what another caller names alike is another one. */
  const idOf = (request: UpstreamRequest | ApiRequest): string | undefined => {
    const { caller } = request
    const name = conversationName((member) =>
      "api" in request ? request.body.value(member) : request.completion[member],
    )
    if (caller === undefined || name === undefined) return undefined
    const about = JSON.stringify([caller, apiNameOf(request), modelOf(request), name.by])
    return createHmac("sha256", key).update(about).update(name.text).digest("latin1")
  }

  return {
    turn: (request, targets) =>
      Effect.map(Clock.currentTimeMillis, (now): Turn => {
        const [first] = targets
        if (first === undefined || targets.length === 1 || request.targets !== undefined) {
          return { targets, answered: () => Effect.void }
        }
        forget(now)
        // While every conversation is where the order leads, none has to be told from the others.
        let id = moved.size === 0 ? undefined : idOf(request)
        const whereTo = () => (id === undefined ? undefined : moved.get(id)?.provider)
        const before = whereTo()
        if (id !== undefined && before !== undefined) remember(id, before, now)
        const preferred = targets.find(({ provider }) => provider.id === before) ?? first
        return {
          targets: [preferred, ...targets.filter((target) => target !== preferred)],
          answered: Effect.fnUntraced(function* (by) {
            if (by === preferred) return before === undefined ? undefined : yield* countTurn(before, "followed")
            id ??= idOf(request)
            // Of turns side by side the first that has to move takes the others along.
            if (id === undefined || whereTo() !== before) return
            if (by === first) moved.delete(id)
            else remember(id, by.provider.id, yield* Clock.currentTimeMillis)
            yield* countTurn(by.provider.id, "moved")
          }),
        }
      }),
  }
}
