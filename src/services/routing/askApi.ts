/** Asks the targets of a route as a client wrote its request, whole or streamed. */
import { Effect } from "effect"
import type { Budgeted } from "../../domain/access/budgets.ts"
import { messageText, responseText } from "../../domain/chat/eventTexts.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { type ApiName, apiOf, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { Labels } from "../../domain/routing/labels.ts"
import type { TargetFilter, TargetName } from "../../domain/upstream/targets.ts"
import type { Answered, ApiRequest, AskOptions, Emit, OutputLimit } from "../../domain/upstream/upstream.ts"
import { Upstream } from "../upstream/Upstream.ts"
import type { CallAndRecord, RequestRoute } from "./callAndRecord.ts"
import { type Dialect, limitMembers } from "./Dialects.ts"
import { tokensOfBytes } from "./TokenEstimate.ts"

/** A client's request, for the targets that its model names. */
export interface ApiCall {
  readonly tenant: string
  readonly request: ApiRequest
  /** The targets that the caller's key permits. */
  readonly keyPolicy?: TargetFilter | undefined
  readonly key?: string | undefined
  readonly labels?: Labels | undefined
  /** The budgets of the key. Those of the tenant also apply. */
  readonly budgeted?: ReadonlyArray<Budgeted> | undefined
}

/** An answer; its JSON is empty for a stream. */
export interface ApiAnswered extends Answered {
  readonly target: TargetName
  /** Cost of all calls for the answer, in micro-USD; `null` if unknown. */
  readonly cost: number | null
}

const limitsItself = ({ api, body }: ApiRequest): boolean =>
  apiOf(api).limits.some((name) => (body.value(name) ?? null) !== null)

/** Whether the router may add an output limit. Only in chats, where some servers name the limit differently. */
export const mayAddLimit = (request: ApiRequest): boolean => request.api === CHAT_COMPLETIONS && !limitsItself(request)

/** The request's own limits capped at `most`; without one, a new limit. */
const limitOf = (
  request: ApiRequest,
  dialect: Dialect,
  most: number | undefined,
  target: Pick<TargetName, "model">,
): OutputLimit => {
  const { api, body } = request
  if (most === undefined) return {}
  if (!limitsItself(request)) {
    if (api === CHAT_COMPLETIONS) return limitMembers(dialect, most, target)
    const [usual] = apiOf(api).limits
    return usual === undefined ? {} : { [usual]: Math.min(most, dialect.longest) }
  }
  const tooLong = apiOf(api).limits.filter((name) => {
    const own = body.value(name) ?? null
    return own !== null && !(typeof own === "number" && own <= most)
  })
  return Object.fromEntries(tooLong.map((name) => [name, most]))
}

/** A request with the options of its route. Its sender is also informed of each call. */
const asking = (request: ApiRequest, options: AskOptions): ApiRequest => ({
  ...request,
  ...options,
  onAttempt: (attempt) => {
    options.onAttempt?.(attempt)
    request.onAttempt?.(attempt)
  },
})

/** Returns functions that call the targets of a route in their order until one answers. */
export const makeAskApi = Effect.fnUntraced(function* (callAndRecord: CallAndRecord) {
  const upstream = yield* Upstream

  return (route: RequestRoute, request: ApiRequest, dialect: Dialect, emit?: Emit<JsonObject>) => {
    let bytes = 0
    const asked = {
      limitOf: (most: number | undefined, target: TargetName) => limitOf(request, dialect, most, target),
      received: () => tokensOfBytes(bytes),
      isStreamed: emit !== undefined,
    }
    const answered =
      emit === undefined
        ? callAndRecord(route, {
            ...asked,
            ask: (options) => upstream.request(asking(request, options)),
          })
        : callAndRecord(route, {
            ...asked,
            ask: (options) =>
              Effect.map(
                upstream.requestStreamTo(asking(request, options), (events) => {
                  for (const event of events) if (event._tag === "Delta") bytes += outputBytes(request.api, event.chunk)
                  return emit(events)
                }),
                (streamed): Answered => ({ ...streamed, json: "" }),
              ),
          })
    return Effect.map(answered, ({ call, served, value }): ApiAnswered => ({
      ...value,
      cost: call.cost_micro_usd,
      target: { provider: served.provider, model: served.model },
    }))
  }
})

/** UTF-8 bytes of the text that a piece adds to its answer. */
const outputBytes = (api: ApiName, piece: JsonObject): number => {
  if (api !== CHAT_COMPLETIONS) {
    const added = (api === "messages" ? messageText : responseText)(piece)
    return Buffer.byteLength(added?.text ?? "")
  }
  const { choices } = piece
  if (!Array.isArray(choices)) return 0
  return choices.reduce((sum: number, choice: unknown) => sum + (isObject(choice) ? textBytes(choice["delta"]) : 0), 0)
}

const textBytes = (value: unknown): number => {
  if (typeof value === "string") return Buffer.byteLength(value)
  return typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, member: unknown) => sum + textBytes(member), 0)
    : 0
}
