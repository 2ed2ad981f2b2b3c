/**
 * The sealed exchange from end to end: opens a request, has a provider answer it, and seals what comes back. The
 * result is ready to be written out; nothing in it can be read on the path, not even whether it is an answer.
 */
import { Context, Effect, Layer, Metric, Option, type Scope, Tracer } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes.ts"
import { UNPACED } from "../../domain/pace.ts"
import { Callers, Source } from "../access/Callers.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { Attestation } from "./Attestation.ts"
import { CallLog } from "./CallLog.ts"
import { endingNow, endRecord } from "./EndRecord.ts"
import { type Asked, readRequest } from "./readRequest.ts"
import { RequestIds } from "./RequestIds.ts"
import { type Envelope, type Opened, type OpeningError, SealedExchange } from "./SealedExchange.ts"
import { notingDefects, problemOf } from "./sealedProblem.ts"
import { type Outlet, sealStream } from "./sealStream.ts"
import { framesSealed, sealedResponses } from "./SealingMetrics.ts"
import { makeTicker } from "./Ticker.ts"

/** Known as soon as the request was claimed. It does not reveal what becomes of the request. */
export type SealedAnswer =
  | {
      readonly _tag: "Complete"
      readonly responseNonce: Bytes
      /** The frame of the answer, which may be empty, and the end record. */
      readonly frames: Effect.Effect<readonly [Bytes, Bytes], never, Scope.Scope>
    }
  | {
      readonly _tag: "Stream"
      readonly responseNonce: Bytes
      /** Whether frames come by a clock, so that nothing else has to keep the connection alive. */
      readonly paced: boolean
      /** Once. What it returns is to be called whenever the outlet is ready again. */
      readonly begin: (outlet: Outlet) => Effect.Effect<() => void, never, Scope.Scope>
    }

export class SealedCompletions extends Context.Service<
  SealedCompletions,
  {
    /**
     * Serves one sealed request. The scope belongs to the request: keys and plaintext are overwritten, and a provider
     * call under way is interrupted, when it closes, so it must stay open until the answer is written out.
     */
    readonly handle: (envelope: Envelope) => Effect.Effect<SealedAnswer, OpeningError, Scope.Scope>
  }
>()("sealgate/services/sealing/SealedCompletions") {
  static readonly layer = Layer.effect(
    SealedCompletions,
    Effect.suspend(() => make),
  )
}

const complete = Effect.fnUntraced(function* (opened: Opened, { request, requestId }: Asked) {
  const upstream = yield* Upstream
  const drain = yield* Drain
  const { sealer } = opened
  const calls = new CallLog()
  const outcome = yield* Effect.raceFirst(
    Effect.flatMap(request, (request) => upstream.answer({ ...request, onAttempt: calls.note })),
    drain.aborted,
  ).pipe(
    notingDefects,
    Effect.match({
      onSuccess: ({ json, served }) => ({ status: "complete", json, served }) as const,
      onFailure: (error) =>
        ({
          status: error._tag === "Aborted" ? "aborted" : "failed",
          json: "null",
          served: calls.served,
          problem: problemOf(error),
        }) as const,
    }),
  )
  const { json, status } = outcome
  const answer = sealer.seal("complete", utf8(json), false)
  const endedAt = yield* endingNow(opened)
  const end = sealer.seal(
    "complete",
    yield* endRecord({ opened, endedAt, requestId, form: "complete", problem: undefined, ...outcome }),
    true,
  )
  yield* Metric.update(framesSealed, 2)
  yield* Metric.update(sealedResponses("complete", status), 1)
  return [answer, end] as const
})

const make = Effect.gen(function* () {
  const exchange = yield* SealedExchange
  const ticker = yield* makeTicker
  // The rest of the layer's context is not provided, because the scope has to be the request's.
  const services = Context.pick(
    Attestation,
    Callers,
    Drain,
    RequestIds,
    Upstream,
  )(yield* Effect.context<Attestation | Callers | Drain | RequestIds | Upstream>())
  const handle = Effect.fnUntraced(function* (envelope: Envelope) {
    const opened = yield* exchange.open(envelope)
    const asked = readRequest(opened)
    const here = Context.getOption(yield* Effect.context<never>(), Tracer.ParentSpan)
    // The answer is produced while it is written out, outside the request's fiber, so it gets its caller and trace
    // from here: the trace that the seal names, else this proxy's own.
    const known = Context.add(services, Source, yield* Source).pipe(
      Context.addOrOmit(Tracer.ParentSpan, asked.trace === undefined ? here : Option.some(asked.trace)),
    )
    const { responseNonce } = opened.sealer
    if (asked.form === "complete") {
      const frames = Effect.provide(complete(opened, asked), known)
      return { _tag: "Complete", responseNonce, frames } satisfies SealedAnswer
    }
    const begin = yield* Effect.provide(sealStream(opened, asked, ticker), known)
    return {
      _tag: "Stream",
      responseNonce,
      paced: asked.pace !== UNPACED,
      begin: (outlet) => Effect.provide(begin(outlet), known),
    } satisfies SealedAnswer
  })

  return SealedCompletions.of({
    handle: (envelope) =>
      // Its place in the code, looked for each time, would cost more than the span.
      Effect.withSpan(handle(envelope), "SealedCompletions.handle", { captureStackTrace: false }),
  })
})
