/** The two ways to call a provider, whole and streamed, each as one call that fails or succeeds in bounded time. */
import { Effect, Exit, Stream } from "effect"
import { placeOfError, typeOfError } from "../../domain/problems/defect.ts"
import type { FailureKind } from "../../domain/upstream/failures.ts"
import type { CallOptions, Served, StreamEvent } from "../../domain/upstream/upstream.ts"
import type { Alarms, Verdict } from "./Alarms.ts"
import { OutOfTime } from "./Deadline.ts"
import { ProviderFailure, type StreamWatch } from "./Provider.ts"
import type { Question } from "./Questions.ts"
import { StreamOutcome } from "./StreamOutcome.ts"
import type { Target } from "./Targets.ts"

/** What is known of a call while it runs, so that it can be recorded even if it is interrupted. */
export interface Progress {
  /** When the first output of a stream came, in milliseconds since the epoch. */
  firstOutputAt: number | undefined
  /** Who gave the answer so far, and what it cost. */
  served: () => Served | undefined
  /** Called when a stream shows that the model is working, perhaps long before the answer is complete. */
  readonly working: () => void
}

/**
 * How long a call may take, in milliseconds, and the moment until which its request has time. `thinking` is the limit for
 * the first output of a model that has shown that it works on it.
 */
export type CallLimits = Readonly<Record<"answer" | "firstToken" | "thinking" | "idle" | "deadline", number>>

export interface Call<A> {
  /** Calls a target once. */
  readonly once: (
    target: Target,
    progress: Progress,
    limits: CallLimits,
    alarms: Alarms,
  ) => Effect.Effect<A, ProviderFailure | OutOfTime>
  /**
   * Whether another attempt may follow a failure. It may not if the caller already has output that cannot be revoked.
   */
  readonly mayGoOn: () => boolean
}

const outOfTime = () => Exit.fail(new OutOfTime())
const timedOut = (kind: "slow" | "timeout") => Exit.fail(new ProviderFailure({ kind }))

/**
 * A provider's translation threw: its input was something that it does not expect. The message is not logged, because a
 * parser's message quotes its input.
 */
const notUnderstood =
  ({ provider }: Target) =>
  (defect: unknown): Effect.Effect<never, ProviderFailure> =>
    Effect.logError("A provider's translation failed").pipe(
      Effect.annotateLogs({
        provider: provider.id,
        error: typeOfError(defect),
        at: placeOfError(defect),
      }),
      Effect.andThen(new ProviderFailure({ kind: "garbage" })),
    )

/** A whole answer. */
export const completeCall = <Answer>(
  question: Pick<Question<Answer, unknown>, "complete">,
): Call<{ readonly answer: Answer; readonly served: Served }> => ({
  mayGoOn: () => true,
  once: (target, progress, { answer: longest, deadline }, alarms) => {
    const due = Math.min(alarms.now() + longest, deadline)
    const isLate = (moment: number): Verdict<ProviderFailure | OutOfTime> => {
      if (moment < due) return due
      return due === deadline ? outOfTime() : timedOut("slow")
    }
    return alarms
      .watched(
        Effect.suspend(() => question.complete(target)),
        isLate,
      )
      .pipe(
        Effect.map(([answer, said]) => {
          const served: Served = { provider: target.provider.id, ...said }
          progress.served = () => served
          return { answer, served }
        }),
        Effect.catchDefect(notUnderstood(target)),
      )
  },
})

/**
 * How many pieces without output are held back at the beginning of an attempt. As long as nothing else came, the caller
 * does not notice a failure; a provider that sends more of them counts as producing output.
 */
const MAX_HELD = 16

/**
 * A streamed answer, whose events go to `emit`. When an attempt follows one that failed after output, `Restarted` is
 * emitted just before the first output of the new one, so that it names the target that really took over. If none takes
 * over, the stream fails and its partial answer stands.
 */
export const streamCall = <Piece>(
  question: Pick<Question<unknown, Piece>, "stream" | "reading">,
  { mayCallAgain = () => true, restart = true }: Pick<CallOptions, "mayCallAgain" | "restart">,
  emit: (events: ReadonlyArray<StreamEvent<Piece>>) => Effect.Effect<unknown>,
): Call<Served> => {
  let emitted = false
  let voided: FailureKind | undefined

  const once: Call<Served>["once"] = (target, progress, { deadline, firstToken, idle, thinking }, alarms) => {
    const startedAt = alarms.now()
    const provider = target.provider.id
    const outcome = new StreamOutcome(provider, question.reading())
    progress.served = () => outcome.served
    const held: Array<Piece> = []
    let working = false
    let producing = false
    let waitingSince: number | undefined = startedAt
    const works = () => {
      working = true
      progress.working()
    }
    const waitOn = () => {
      waitingSince = alarms.now()
    }

    const watch: StreamWatch = {
      alive: waitOn,
      thinking: () => {
        works()
        waitOn()
      },
      spent: (usage) => outcome.spent(usage),
      receipt: (receipt) => outcome.signed(receipt),
    }

    const onPieces = (pieces: ReadonlyArray<Piece>): Effect.Effect<void> => {
      for (const piece of pieces) outcome.add(piece)
      if (!producing) {
        producing = pieces.some((piece) => outcome.hasOutput(piece)) || held.length + pieces.length > MAX_HELD
        if (!producing) {
          held.push(...pieces)
          return Effect.void
        }
        progress.firstOutputAt = alarms.clock.currentTimeMillisUnsafe()
        works()
      }
      waitingSince = undefined
      const all = held.length === 0 ? pieces : [...held.splice(0), ...pieces]
      const events = all.map((chunk): StreamEvent<Piece> => ({
        _tag: "Delta",
        provider,
        chunk,
      }))
      if (voided !== undefined) {
        events.unshift({ _tag: "Restarted", reason: voided, provider, model: outcome.served.model })
        voided = undefined
      }
      emitted = true
      return Effect.andThen(emit(events), Effect.sync(waitOn))
    }

    // A timestamp is watched, so that pieces need no timers. It is looked at after no longer than the idle time, so an idle
    // period is noticed that begins meanwhile. Before the first output, thoughts only prolong the model's time, because
    // others may be thought unseen.
    const isSilent = (moment: number): Verdict<ProviderFailure | OutOfTime> => {
      const idleAt = working ? (waitingSince ?? moment) + idle : 0
      const due = producing ? idleAt : Math.max(startedAt + (working ? thinking : firstToken), idleAt)
      if (moment >= deadline) return outOfTime()
      if (moment >= due) return timedOut(producing ? "timeout" : "slow")
      return Math.min(due, moment + idle, deadline)
    }

    return alarms
      .watched(
        Stream.runForEachArray(
          Stream.suspend(() => question.stream(target, watch)),
          onPieces,
        ),
        isSilent,
      )
      .pipe(
        // Providers guarantee this. It is checked again here, because a truncated answer must never count as a whole one.
        Effect.andThen(
          Effect.suspend(() =>
            outcome.finished ? Effect.succeed(outcome.served) : Effect.fail(new ProviderFailure({ kind: "truncated" })),
          ),
        ),
        // This comes before the failure is noted, so that later output never counts as the rest of this answer.
        Effect.catchDefect(notUnderstood(target)),
        Effect.tapError((failure) =>
          Effect.sync(() => {
            if (producing && failure._tag === "ProviderFailure") voided = failure.kind
          }),
        ),
      )
  }

  return { once, mayGoOn: () => (restart || !emitted) && mayCallAgain() }
}
