/**
 * The sealed exchange from end to end: opens a request, has a provider answer it, and seals what comes back. The
 * result is ready to be written out; nothing in it can be read on the path, not even whether it is an answer.
 */
import { Context, Effect, type Fiber, Layer, Option, type Scope, Tracer } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { UNPACED } from "../../domain/protocol/pace.ts"
import { Callers } from "../access/Callers.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { spanned } from "../spans.ts"
import { makeTimer } from "../Timer.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { Attestation } from "./Attestation.ts"
import { readRequest } from "./readRequest.ts"
import { RequestIds } from "./RequestIds.ts"
import { type Frames, sealComplete } from "./sealComplete.ts"
import { type Envelope, type OpeningError, SealedExchange } from "./SealedExchange.ts"
import { type Outlet, sealStream } from "./sealStream.ts"

/** Known as soon as the request was claimed. It does not reveal what becomes of the request. */
export type SealedAnswer =
  | {
      readonly _tag: "Complete"
      readonly responseNonce: Bytes
      /** Under way already. */
      readonly frames: Fiber.Fiber<Frames>
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
     * call under way is interrupted, when it closes, so it must stay open until the answer is written out. `onAnswered` is
     * called when the content of the request was needed for the last time, if that is before.
     */
    readonly handle: (
      envelope: Envelope,
      onAnswered?: () => void,
    ) => Effect.Effect<SealedAnswer, OpeningError, Scope.Scope>
  }
>()("sealgate/services/sealing/SealedCompletions") {
  static readonly layer = Layer.effect(
    SealedCompletions,
    Effect.suspend(() => make),
  )
}

/** The shortest payload, in bytes, for whose length others are let in between two steps. */
const LARGE = 1024 * 1024

const make = Effect.gen(function* () {
  const exchange = yield* SealedExchange
  const timer = yield* makeTimer
  // Handed on by hand: to provide them to each request would copy its whole context.
  const services = {
    attestation: yield* Attestation,
    drain: yield* Drain,
    upstream: yield* Upstream,
  }
  const admission = { callers: yield* Callers, requestIds: yield* RequestIds }

  const handle = Effect.fnUntraced(function* (envelope: Envelope, onAnswered?: () => void) {
    const opened = yield* exchange.open(envelope)
    // To open megabytes takes as long as others should wait.
    if (opened.request.payload.length > LARGE) yield* Effect.yieldNow
    const asked = yield* readRequest(opened, admission)
    const here = yield* Effect.serviceOption(Tracer.ParentSpan)
    // The trace that the seal names, else this proxy's own.
    const trace = asked.trace ?? Option.getOrUndefined(here)
    const traced = <A, E, R>(serving: Effect.Effect<A, E, R>) =>
      trace === undefined ? serving : Effect.provideService(serving, Tracer.ParentSpan, trace)
    const { responseNonce } = opened.sealer
    const answered = () => {
      opened.forget()
      onAnswered?.()
    }
    if (asked.form === "complete") {
      const frames = yield* traced(sealComplete(services, opened, asked, answered))
      return { _tag: "Complete", responseNonce, frames } satisfies SealedAnswer
    }
    const begin = yield* traced(sealStream(services, opened, asked, timer, answered))
    return {
      _tag: "Stream",
      responseNonce,
      paced: asked.pace !== UNPACED,
      begin: (outlet) => traced(begin(outlet)),
    } satisfies SealedAnswer
  })

  return SealedCompletions.of({
    handle: (envelope, onAnswered) => spanned("SealedCompletions.handle")(handle(envelope, onAnswered)),
  })
})
