/** Serves sealed requests. On the path, a failure looks like an answer. */
import { Context, Effect, type Fiber, Layer, Option, type Scope, Tracer } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { UNPACED } from "../../domain/protocol/pace.ts"
import { Callers } from "../access/Callers.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { spanned } from "../spans.ts"
import { makeTimer } from "../Timer.ts"
import { Answering } from "./Answering.ts"
import { Attestation } from "./Attestation.ts"
import { readRequest } from "./readRequest.ts"
import { RequestIds } from "./RequestIds.ts"
import { type Frames, sealComplete } from "./sealComplete.ts"
import { type Envelope, type OpeningError, RequestOpener } from "./RequestOpener.ts"
import { type Outlet, sealStream } from "./sealStream.ts"

/** Returned as soon as the request is claimed, so it does not reveal the outcome. */
export type SealedReply =
  | {
      readonly _tag: "Complete"
      readonly responseNonce: Bytes
      /** Already running. */
      readonly frames: Fiber.Fiber<Frames>
    }
  | {
      readonly _tag: "Stream"
      readonly responseNonce: Bytes
      /** Whether frames come at a fixed pace, which keeps the connection alive. */
      readonly paced: boolean
      /** Begins the stream, once. Returns a function to call whenever the outlet becomes ready. */
      readonly begin: (outlet: Outlet) => Effect.Effect<() => void, never, Scope.Scope>
    }

export class SealedCompletions extends Context.Service<
  SealedCompletions,
  {
    /**
     * Serves one sealed request. The scope must stay open until the answer is written: when it closes, keys and plaintext
     * are overwritten and the provider call is interrupted. `onAnswered` is called once the request's content is no longer
     * needed.
     */
    readonly handle: (
      envelope: Envelope,
      onAnswered?: () => void,
    ) => Effect.Effect<SealedReply, OpeningError, Scope.Scope>
  }
>()("sealgate/services/sealing/SealedCompletions") {
  static readonly layer = Layer.effect(
    SealedCompletions,
    Effect.suspend(() => make),
  )
}

/** Payloads beyond this many bytes let other requests run between opening and reading. */
const LARGE = 1024 * 1024

const make = Effect.gen(function* () {
  const opener = yield* RequestOpener
  const timer = yield* makeTimer
  // Passed as arguments, because providing them would copy the context of each request.
  const services = {
    attestation: yield* Attestation,
    drain: yield* Drain,
    answering: yield* Answering,
  }
  const checks = { callers: yield* Callers, requestIds: yield* RequestIds }

  const handle = Effect.fnUntraced(function* (envelope: Envelope, onAnswered?: () => void) {
    const opened = yield* opener.open(envelope)
    if (opened.request.payload.length > LARGE) yield* Effect.yieldNow
    const asked = yield* readRequest(opened, checks)
    const here = yield* Effect.serviceOption(Tracer.ParentSpan)
    // The trace that the client sent under the seal, or else the proxy's.
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
      return { _tag: "Complete", responseNonce, frames } satisfies SealedReply
    }
    const begin = yield* traced(sealStream(services, opened, asked, timer, answered))
    return {
      _tag: "Stream",
      responseNonce,
      paced: asked.pace !== UNPACED,
      begin: (outlet) => traced(begin(outlet)),
    } satisfies SealedReply
  })

  return SealedCompletions.of({
    handle: (envelope, onAnswered) => spanned("SealedCompletions.handle")(handle(envelope, onAnswered)),
  })
})
