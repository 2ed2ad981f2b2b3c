/**
 * The sealed exchange from end to end: opens a request, has a provider answer it, and seals what comes back. The
 * result is ready to be written out; nothing in it can be read on the path.
 */
import { Context, Effect, Layer, Metric, type Scope, type Stream } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes.ts"
import { iJsonOf } from "../../domain/surrogates.ts"
import type { UpstreamError, UpstreamRequest } from "../../domain/upstream.ts"
import { Callers } from "../access/Callers.ts"
import { type Aborted, Drain } from "../lifecycle/Drain.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { Attestation } from "./Attestation.ts"
import { endingNow, endRecord } from "./EndRecord.ts"
import { readRequest } from "./readRequest.ts"
import { type Envelope, type Opened, type OpeningError, SealedExchange } from "./SealedExchange.ts"
import { problemOf, type Refused } from "./sealedProblem.ts"
import { sealFrame } from "./sealFrame.ts"
import { type SealedEvent, sealStream } from "./sealStream.ts"
import { sealedResponses } from "./SealingMetrics.ts"

export type SealedAnswer =
  | { readonly _tag: "Complete"; readonly responseNonce: Bytes; readonly frames: ReadonlyArray<Bytes> }
  | { readonly _tag: "Stream"; readonly responseNonce: Bytes; readonly events: Stream.Stream<SealedEvent> }
  /** The request was opened but not served. Only the status and the time to wait are readable on the path. */
  | {
      readonly _tag: "Problem"
      readonly status: number
      readonly retryAfterMs: number | undefined
      readonly responseNonce: Bytes
      readonly frames: ReadonlyArray<Bytes>
    }

export class SealedCompletions extends Context.Service<
  SealedCompletions,
  {
    /**
     * Serves one sealed request. The scope belongs to the request: keys and plaintext are overwritten, and a provider
     * call under way is interrupted, when it closes, so it must stay open until a stream is written out.
     */
    readonly handle: (envelope: Envelope) => Effect.Effect<SealedAnswer, OpeningError, Scope.Scope>
  }
>()("sealgate/services/sealing/SealedCompletions") {
  static readonly layer = Layer.effect(
    SealedCompletions,
    Effect.suspend(() => make),
  )
}

const json = (value: unknown): Bytes => utf8(iJsonOf(value))

const refuse = Effect.fnUntraced(function* ({ sealer }: Opened, error: Refused | UpstreamError | Aborted) {
  const problem = problemOf(error)
  const frame = yield* sealFrame(sealer, "problem", json(problem), true)
  yield* Metric.update(sealedResponses("problem", problem.code), 1)
  return {
    _tag: "Problem",
    status: problem.status,
    retryAfterMs: error._tag === "Aborted" ? undefined : error.retryAfterMs,
    responseNonce: sealer.responseNonce,
    frames: [frame],
  } satisfies SealedAnswer
})

const complete = Effect.fnUntraced(function* (opened: Opened, requestId: string, request: UpstreamRequest) {
  const upstream = yield* Upstream
  const drain = yield* Drain
  const { sealer } = opened
  const { completion, served } = yield* Effect.raceFirst(upstream.complete(request), drain.aborted)
  const answer = yield* sealFrame(sealer, "complete", json(completion), false)
  const endedAt = yield* endingNow(opened)
  const end = yield* endRecord({ opened, endedAt, requestId, form: "complete", status: "complete", served })
  const frames = [answer, yield* sealFrame(sealer, "complete", end, true)]
  yield* Metric.update(sealedResponses("complete", "complete"), 1)
  return { _tag: "Complete", responseNonce: sealer.responseNonce, frames } satisfies SealedAnswer
})

const serve = Effect.fnUntraced(function* (opened: Opened) {
  const { id, stream, upstream } = yield* readRequest(opened)
  if (!stream) return yield* complete(opened, id, upstream)
  const events = yield* sealStream(opened, id, upstream)
  return { _tag: "Stream", responseNonce: opened.sealer.responseNonce, events } satisfies SealedAnswer
})

const make = Effect.gen(function* () {
  const exchange = yield* SealedExchange
  // Nothing else of the layer's context: the scope is to be the request's.
  const services = Context.pick(
    Attestation,
    Callers,
    Drain,
    Upstream,
  )(yield* Effect.context<Attestation | Callers | Drain | Upstream>())
  return SealedCompletions.of({
    handle: Effect.fn("SealedCompletions.handle")(function* (envelope) {
      const opened = yield* exchange.open(envelope)
      return yield* serve(opened).pipe(
        Effect.catch((error) => refuse(opened, error)),
        Effect.provide(services),
      )
    }),
  })
})
