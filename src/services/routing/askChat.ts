/** Asks the targets of a route for an answer to a chat. */
import { Effect } from "effect"
import type { StepCall } from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { sameModel, type TargetName } from "../../domain/upstream/targets.ts"
import type { UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { Upstream } from "../upstream/Upstream.ts"
import type { CallAndRecord, RequestRoute, RoutedRequest } from "./callAndRecord.ts"
import { type Answer, AnswerDraft, type TextListener } from "./AnswerDraft.ts"
import { type Dialect, inDialect, limitMembers } from "./Dialects.ts"
import type { CallFailed } from "./RoutingErrors.ts"

/** A chat for a routed target. A `model` in `completion` is ignored; refused members are left out, and remembered. */
export interface RouterRequest
  extends Omit<RoutedRequest, "api" | "model" | "size">, Pick<UpstreamRequest, "authors" | "completion"> {
  readonly heard?: TextListener | undefined
}

export interface Routed extends Answer {
  /** The target that served, as configured. */
  readonly target: TargetName
  /** Whether its model differs from those of `independentOf`. */
  readonly independent: boolean
  /** The sum of all calls, failed ones included; `model` is the one that answered. */
  readonly call: StepCall
  /** The receipt, if a sealed proxy answered. */
  readonly receipt?: KeptReceipt | undefined
  /** The cascade's threshold; `null` without a cascade or a dearer target. */
  readonly escalateBelow: number | null
}

/** Returns a function that calls the targets of a route in their order until one answers. */
export const makeAskChat = Effect.fnUntraced(function* (callAndRecord: CallAndRecord) {
  const upstream = yield* Upstream

  return (
    route: RequestRoute,
    { authors, completion, heard }: Pick<RouterRequest, "authors" | "completion" | "heard">,
    dialect: Dialect,
  ): Effect.Effect<Routed, CallFailed | StorageUnavailable> => {
    const draft = new AnswerDraft(heard)
    const spoken = inDialect(completion, dialect)
    const answered = callAndRecord(route, {
      ask: (options) =>
        upstream.streamTo({ ...options, authors, completion: spoken }, (events) =>
          Effect.sync(() => events.forEach(draft.add)),
        ),
      limitOf: (most, target) => limitMembers(dialect, most, target),
      received: () => draft.received,
      isStreamed: true,
    })
    return Effect.map(answered, ({ call, served, value }): Routed => {
      const others = route.request.independentOf ?? []
      return {
        ...draft.finished(value),
        target: { provider: served.provider, model: served.model },
        independent: !others.some((other) => sameModel(other, served)),
        call,
        receipt: served.receipt,
        escalateBelow: route.escalateBelow,
      }
    })
  }
})
