/**
 * Keeps the turns of a conversation where they were answered: providers cache what a request begins with, each for itself.
 *
 * Conversations follow the order of providers, so only those are remembered whose target failed. They stay where they
 * went for {@link STAY}, so that a flapping target does not cost a cold cache each time, and then follow the order again.
 * A target that was skipped for its open circuit was not asked, so there is nothing to remember: as long as the circuit
 * is open, the order itself leads past it. A response that goes on from another one by its id has no choice at all: no
 * other provider knows that id.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Clock, Duration, Effect } from "effect"
import { conversationName, keepsResponse, previousResponse } from "../../domain/chat/conversation.ts"
import type { ApiRequest, Served, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { RecentPlaces } from "./RecentPlaces.ts"
import { apiNameOf, modelOf, type Target } from "./Targets.ts"
import { countTurn } from "./UpstreamMetrics.ts"

type Request = UpstreamRequest | ApiRequest

/**
 * How long a conversation that moved stays away, from the move on, whatever its traffic. With a turn every few seconds, it
 * is back within 30 s of its target's recovery.
 */
export const STAY = Duration.seconds(20)

/** How long after its last use a response is remembered: about as long as agents pause. */
export const RESPONSES_KEPT = Duration.hours(1)

/** One request as a turn of its conversation. */
export interface Turn {
  /** The targets of the request, with the one first to which its conversation went; that one alone where no other can go on. */
  readonly targets: ReadonlyArray<Target>
  /** Notes which target answered, what it said of its answer, and which targets had failed to. */
  readonly answered: (
    by: Target,
    served: Pick<Served, "id"> | undefined,
    failed: (target: Target) => boolean,
  ) => Effect.Effect<void>
}

interface Affinity {
  /** `targets` are those of the request, in the order that holds for conversations that went nowhere else. */
  readonly turn: (request: Request, targets: ReadonlyArray<Target>) => Effect.Effect<Turn>
}

const membersOf = (request: Request) => (member: string) =>
  "api" in request ? request.body.value(member) : request.completion[member]

export const makeAffinity = (): Affinity => {
  // Keyed, so that what is in memory tells nothing to whoever does not know both.
  const key = randomBytes(32)
  const hash = (about: ReadonlyArray<unknown>, text: string): string =>
    createHmac("sha256", key).update(JSON.stringify(about)).update(text).digest("latin1")
  const conversations = new RecentPlaces(STAY)
  const responses = new RecentPlaces(RESPONSES_KEPT)

  /** A conversation of one caller with one model by one API; what another caller names alike is another one. */
  const conversationOf = (request: Request): string | undefined => {
    const { caller } = request
    const name = conversationName(membersOf(request))
    if (caller === undefined || name === undefined) return undefined
    return hash([caller, apiNameOf(request), modelOf(request), name.by], name.text)
  }

  /** A turn of a conversation that sends all of it. */
  const wholeTurn = (
    request: Request,
    [first, ...others]: readonly [Target, ...ReadonlyArray<Target>],
    now: number,
  ): Turn => {
    // While every conversation is where the order leads, none has to be told from the others.
    let id = conversations.isEmpty(now) ? undefined : conversationOf(request)
    const whereTo = () => (id === undefined ? undefined : conversations.get(id))
    const before = whereTo()
    const preferred = others.find(({ provider }) => provider.id === before) ?? first
    const moved = Effect.fnUntraced(function* (by: Target) {
      id ??= conversationOf(request)
      // Of turns side by side the first that has to move takes the others along.
      if (id === undefined || whereTo() !== before) return
      if (by === first) conversations.delete(id)
      else conversations.set(id, request.caller, by.provider.id, yield* Clock.currentTimeMillis)
      yield* countTurn(by.provider.id, "moved")
    })
    return {
      targets: [preferred, ...[first, ...others].filter((target) => target !== preferred)],
      answered: (by, _, failed) => {
        if (by !== preferred) return failed(preferred) ? moved(by) : Effect.void
        return before === undefined ? Effect.void : countTurn(before, "followed")
      },
    }
  }

  const responseOf = ({ caller }: Request, id: string): string => hash([caller], id)

  /** The turn of a request whose answer the provider keeps, and knows by an id. */
  const keptTurn = (request: Request, turn: Turn): Turn => ({
    targets: turn.targets,
    answered: Effect.fnUntraced(function* (by, served, failed) {
      yield* turn.answered(by, served, failed)
      if (served?.id === undefined) return
      const id = responseOf(request, served.id)
      responses.set(id, request.caller, by.provider.id, yield* Clock.currentTimeMillis)
    }),
  })

  return {
    turn: (request, targets) =>
      Effect.map(Clock.Clock, (clock): Turn => {
        const now = clock.currentTimeMillisUnsafe()
        const [first, ...others] = targets
        if (first === undefined || request.targets !== undefined) return { targets, answered: () => Effect.void }
        const member = membersOf(request)
        const isResponse = apiNameOf(request) === "responses"
        const previous = isResponse ? previousResponse(member) : undefined
        if (previous !== undefined) {
          const at = responses.isEmpty(now) ? undefined : responses.get(responseOf(request, previous))
          const target = targets.find(({ provider }) => provider.id === at) ?? first
          return keptTurn(request, { targets: [target], answered: () => Effect.void })
        }
        const turn = wholeTurn(request, [first, ...others], now)
        return isResponse && keepsResponse(member) ? keptTurn(request, turn) : turn
      }),
  }
}
