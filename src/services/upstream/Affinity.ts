/**
 * Sends the turns of a conversation to the provider that answered the previous one, because providers cache the
 * beginning of requests. Conversations follow the order of providers, so only those whose target failed are remembered.
 * They stay where they moved for {@link STAY}, so that a flapping target does not cost a cold cache each time; then
 * they follow the order again. A target skipped because of its open circuit did not fail, so nothing is remembered:
 * while the circuit is open, the order itself skips the target. A response that continues another one by id must go to
 * the provider of that one. If another process served it, the providers are asked in turn. A request with encrypted
 * reasoning first goes to the provider that wrote the reasoning, because only that one can decrypt it.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Duration, Effect } from "effect"
import { conversationName, keepsResponse, openingName, previousResponse } from "../../domain/chat/conversation.ts"
import type { ApiRequest, Served, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { thisMoment } from "../moments.ts"
import { RecentPlaces } from "./RecentPlaces.ts"
import { apiNameOf, modelOf, type ModelTarget } from "./Targets.ts"
import { countTurn } from "./UpstreamMetrics.ts"

/** How long a moved conversation stays, counted from the move. After its target recovers, it returns within 30 s. */
export const STAY = Duration.seconds(20)

/** How long answers are remembered after their last use: about as long as agents pause. */
const ANSWERS_KEPT = Duration.hours(1)

/** One request as a turn of its conversation. */
export interface ConversationTurn {
  /** The targets of the request, the conversation's last one first. If no other can continue, only that one. */
  readonly targets: ReadonlyArray<ModelTarget>
  /**
   * Whether only one target can continue, but it is unknown which. The next one is asked only if a target is
   * `incapable`.
   */
  readonly isSearch?: boolean
  /** Notes which target answered, the id of its answer, and which targets had failed. */
  readonly answered: (
    by: ModelTarget,
    served: Pick<Served, "id"> | undefined,
    failed: (target: ModelTarget) => boolean,
  ) => Effect.Effect<void>
}

interface Affinity {
  /** `targets` are those of the request, in the order for conversations that have not moved. */
  readonly turn: (
    request: UpstreamRequest | ApiRequest,
    targets: ReadonlyArray<ModelTarget>,
  ) => Effect.Effect<ConversationTurn>
}

const membersOf = (request: UpstreamRequest | ApiRequest) => (member: string) =>
  "api" in request ? request.body.value(member) : request.completion[member]

/** Searched for in the bytes of a request: that it asks for encrypted reasoning, and a member that contains some. */
const ENCRYPTED = "encrypted_content"
const ENCRYPTED_MEMBER = `"${ENCRYPTED}"`

const mentions = (request: UpstreamRequest | ApiRequest, text: string): boolean =>
  "api" in request &&
  Buffer.from(request.body.bytes.buffer, request.body.bytes.byteOffset, request.body.bytes.length).includes(text)

type IdOf = (
  request: UpstreamRequest | ApiRequest,
  name: ReturnType<typeof conversationName>,
  key?: unknown,
) => string | undefined

/** Returns a function that puts the provider that wrote a conversation's encrypted reasoning first. */
const makeEncryptedTurn = (idOf: IdOf) => {
  const writers = new RecentPlaces(ANSWERS_KEPT)

  return (request: UpstreamRequest | ApiRequest, turn: ConversationTurn, now: number): ConversationTurn => {
    if (!mentions(request, ENCRYPTED)) return turn
    const member = membersOf(request)
    // A key or user may have several conversations at once, with different writers.
    const id = idOf(request, openingName(member), member("prompt_cache_key"))
    if (id === undefined) return turn
    const before = writers.isEmpty(now) || !mentions(request, ENCRYPTED_MEMBER) ? undefined : writers.get(id)
    const [first] = turn.targets
    const writer = turn.targets.find(({ provider }) => provider.id === before) ?? first
    return {
      targets: turn.targets.toSorted((a, b) => Number(b === writer) - Number(a === writer)),
      answered: Effect.fnUntraced(function* (by, served, failed) {
        if (writer === first) yield* turn.answered(by, served, failed)
        else yield* countTurn(by.provider.id, by === writer ? "followed" : "moved")
        writers.set(id, request.caller, by.provider.id, yield* thisMoment)
      }),
    }
  }
}

export const makeAffinity = (): Affinity => {
  // Keyed, so that memory reveals nothing without the key.
  const key = randomBytes(32)
  const hash = (about: ReadonlyArray<unknown>, text: string): string =>
    createHmac("sha256", key).update(JSON.stringify(about)).update(text).digest("latin1")
  const conversations = new RecentPlaces(STAY)
  const responses = new RecentPlaces(ANSWERS_KEPT)

  /** Identifies a conversation of one caller with one model by one API. Equal names of two callers stay apart. */
  const idOf: IdOf = (request, name, key) => {
    const { caller } = request
    if (caller === undefined || name === undefined) return undefined
    return hash([caller, apiNameOf(request), modelOf(request), name.by, key], name.text)
  }
  const conversationOf = (request: UpstreamRequest | ApiRequest) => idOf(request, conversationName(membersOf(request)))

  const encryptedTurn = makeEncryptedTurn(idOf)

  /** A turn that sends the whole conversation. */
  const wholeTurn = (
    request: UpstreamRequest | ApiRequest,
    [first, ...others]: readonly [ModelTarget, ...ReadonlyArray<ModelTarget>],
    now: number,
  ): ConversationTurn => {
    // While no conversation has moved, none needs to be identified.
    let id = conversations.isEmpty(now) ? undefined : conversationOf(request)
    const whereTo = () => (id === undefined ? undefined : conversations.get(id))
    const before = whereTo()
    const preferred = others.find(({ provider }) => provider.id === before) ?? first
    const moved = Effect.fnUntraced(function* (by: ModelTarget) {
      id ??= conversationOf(request)
      // Of concurrent turns, the first one to move takes the others along.
      if (id === undefined || whereTo() !== before) return
      if (by === first) conversations.delete(id)
      else conversations.set(id, request.caller, by.provider.id, yield* thisMoment)
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

  const responseOf = ({ caller }: UpstreamRequest | ApiRequest, id: string): string => hash([caller], id)

  /** A turn whose answer the provider keeps under an id. */
  const keptTurn = (request: UpstreamRequest | ApiRequest, turn: ConversationTurn): ConversationTurn => ({
    ...turn,
    answered: Effect.fnUntraced(function* (by, served, failed) {
      yield* turn.answered(by, served, failed)
      if (served?.id === undefined) return
      responses.set(responseOf(request, served.id), request.caller, by.provider.id, yield* thisMoment)
    }),
  })

  return {
    turn: (request, targets) =>
      Effect.map(thisMoment, (now): ConversationTurn => {
        const [first, ...others] = targets
        // Steps of jobs do not count as conversations.
        const isStep = request.targets !== undefined && !("api" in request)
        if (first === undefined || isStep) return { targets, answered: () => Effect.void }
        const member = membersOf(request)
        const isResponse = apiNameOf(request) === "responses"
        const previous = isResponse ? previousResponse(member) : undefined
        if (previous !== undefined) {
          const at = responses.isEmpty(now) ? undefined : responses.get(responseOf(request, previous))
          const known = targets.find(({ provider }) => provider.id === at)
          const where = known === undefined ? { targets, isSearch: true } : { targets: [known] }
          return keptTurn(request, { ...where, answered: () => Effect.void })
        }
        const whole = wholeTurn(request, [first, ...others], now)
        const turn = isResponse ? encryptedTurn(request, whole, now) : whole
        return isResponse && keepsResponse(member) ? keptTurn(request, turn) : turn
      }),
  }
}
