/** Seals a provider's complete answer. */
import { Cause, Effect, Exit, type Fiber, Option, type Scope } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import type { Problem } from "../../domain/problems/problem.ts"
import type { RawObject } from "../../domain/json/rawObject.ts"
import type { EndStatus } from "../../domain/protocol/transcript.ts"
import { Aborted, type Drain } from "../lifecycle/Drain.ts"
import type { Answering } from "./Answering.ts"
import type { Attestation } from "./Attestation.ts"
import { CallLog } from "./CallLog.ts"
import { endingNow, endRecord, type ServedBy, traced } from "./EndRecord.ts"
import type { ReadRequest } from "./readRequest.ts"
import type { Opened } from "./RequestOpener.ts"
import { notingDefects, problemOf, type ServingError } from "./sealedProblem.ts"
import { framesSealed, sealedResponses } from "./SealingMetrics.ts"

/** The frames of the answer (JSON `null` if there is none) and of the end record. */
export type Frames = readonly [answer: Bytes, end: Bytes]

interface CompleteServices {
  readonly attestation: Pick<Attestation["Service"], "sign">
  readonly drain: Pick<Drain["Service"], "onAbort">
  readonly answering: Pick<Answering["Service"], "answer">
}

interface CompleteOutcome {
  readonly status: EndStatus
  /** `null` without an answer. */
  readonly json: string
  readonly served: ServedBy
  readonly error?: ServingError
}

/** Begins to serve and seal a request in the scope. `answered` is called when its content is no longer needed. */
export const sealComplete = (
  { answering, attestation, drain }: CompleteServices,
  opened: Opened,
  asked: ReadRequest,
  answered: () => void,
): Effect.Effect<Fiber.Fiber<Frames>, never, Scope.Scope> => {
  const { sealer } = opened

  const sealed = ({ json, served, status }: CompleteOutcome, endedAt: number, problem?: Problem): Frames => {
    const answer = sealer.seal("complete", utf8(json), false)
    const record = { opened, endedAt, requestId: asked.requestId, form: "complete", status, served, problem } as const
    return [answer, sealer.seal("complete", endRecord(attestation, record), true)]
  }
  const seal = (outcome: CompleteOutcome): Effect.Effect<Frames> =>
    Effect.withFiber(({ context }) => {
      framesSealed.updateUnsafe(2, context)
      sealedResponses("complete", outcome.status).updateUnsafe(1, context)
      return Effect.flatMap(endingNow(opened), (endedAt) =>
        outcome.error === undefined
          ? Effect.sync(() => sealed(outcome, endedAt))
          : Effect.map(traced(problemOf(outcome.error)), (problem) => sealed(outcome, endedAt, problem)),
      )
    })

  const serve = Effect.withFiber<Frames, never, Scope.Scope>((fiber) => {
    const calls = new CallLog()
    let isAborted = false
    const forget = drain.onAbort(() => {
      isAborted = true
      fiber.interruptUnsafe()
    })
    let body: RawObject | undefined
    const answer = Effect.flatMap(asked.admit, ({ caller, request }) => {
      body = request.body
      return answering.answer({ caller, request: { ...request, onAttempt: calls.recordAttempt } })
    })
    return answer.pipe(
      Effect.interruptible,
      notingDefects,
      Effect.exit,
      Effect.flatMap((exit) => {
        forget()
        body?.overwrite()
        answered()
        if (Exit.isSuccess(exit)) return seal({ status: "complete", json: exit.value.json, served: exit.value.served })
        const failed = (status: EndStatus, error: ServingError) =>
          seal({ status, json: "null", served: calls.served, error })
        const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
        if (error !== undefined) return failed("failed", error)
        // The scope closed, so there is no client to answer. The cause is an interruption and has no error.
        return isAborted ? failed("aborted", new Aborted()) : Effect.failCause(exit.cause as Cause.Cause<never>)
      }),
    )
  })

  // Only the provider call is interruptible: sealing finishes.
  return Effect.forkScoped(serve, { uninterruptible: true })
}
