/** Calls a provider for a whole or a streamed answer. Each call succeeds or fails in bounded time. */
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

/** State of a running call, so that it can be recorded even if it is interrupted. */
export interface Progress {
  /** When the first output of a stream came, in milliseconds since the epoch. */
  firstOutputAt: number | undefined
  /** The provider, model and usage of the answer so far. */
  served: () => Served | undefined
  /** Called when a stream shows that the model is working. */
  readonly working: () => void
}

/**
 * The time limits of a call in milliseconds, and the deadline of its request as a moment. `thinking` replaces `firstToken`
 * once the model has shown that it is working.
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
   * Whether another attempt may follow a failure. Not if the caller already has output that cannot be revoked.
   */
  readonly mayGoOn: () => boolean
}

const outOfTime = () => Exit.fail(new OutOfTime())
const timedOut = (kind: "slow" | "timeout") => Exit.fail(new ProviderFailure({ kind }))

/**
 * Fails a call whose translation threw on unexpected input. The message is not logged, because parsers quote their
 * input.
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

/** Calls for a whole answer. */
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
 * The number of pieces without output that are held back at the beginning of an attempt. While nothing else has come,
 * the caller does not notice a failure. More pieces than this count as output.
 */
const MAX_HELD = 16

/** The output that the caller of a stream already has, across all attempts. */
interface Emitted {
  /** Whether the caller has any output. */
  any: boolean
  /** Why the output so far is void, until `Restarted` is emitted. */
  voided: FailureKind | undefined
}

/**
 * Calls for a streamed answer, whose events go to `emit`. If an attempt failed after output, `Restarted` comes just before
 * the first output of the next one, so that it names the target that took over. If none takes over, the stream fails and
 * its partial answer stands.
 */
export const streamCall = <Piece>(
  question: Pick<Question<unknown, Piece>, "stream" | "reading">,
  { mayCallAgain = () => true, restart = true }: Pick<CallOptions, "mayCallAgain" | "restart">,
  emit: Emit<Piece>,
): Call<Served> => {
  const emitted: Emitted = { any: false, voided: undefined }
  return {
    mayGoOn: () => (restart || !emitted.any) && mayCallAgain(),
    once: (target, progress, limits, alarms) => {
      const outcome = new StreamOutcome(target.provider.id, question.reading())
      progress.served = () => outcome.served
      const attempt = new StreamAttempt(outcome, progress, limits, alarms, emitted, emit)
      const reading = Stream.runForEachArray(
        Stream.suspend(() => question.stream(target, attempt.watch)),
        attempt.onPieces,
      )
      return alarms.watched(reading, attempt.isSilent).pipe(
        // Providers guarantee this. It is checked again, because a truncated answer must never count as a whole one.
        Effect.andThen(
          Effect.suspend(() =>
            outcome.finished ? Effect.succeed(outcome.served) : Effect.fail(new ProviderFailure({ kind: "truncated" })),
          ),
        ),
        // Before the failure is noted, so that later output never counts as the rest of this answer.
        Effect.catchDefect(notUnderstood(target)),
        Effect.tapError((failure) => Effect.sync(() => attempt.failed(failure))),
      )
    },
  }
}

type Emit<Piece> = (events: ReadonlyArray<StreamEvent<Piece>>) => Effect.Effect<unknown>

/** One attempt at a streamed answer. */
class StreamAttempt<Piece> {
  private readonly outcome: StreamOutcome<Piece>
  private readonly progress: Progress
  private readonly limits: CallLimits
  private readonly alarms: Alarms
  private readonly emitted: Emitted
  private readonly emit: Emit<Piece>
  private readonly startedAt: number
  /** Pieces without output, which the caller gets with the first output. */
  private held: Array<Piece> = []
  /** Whether the model has shown that it works on the answer. */
  private working = false
  /** Whether output has come. */
  private producing = false
  /** Since when the provider has been silent; `undefined` while a slow reader is being waited for. */
  private waitingSince: number | undefined

  constructor(
    outcome: StreamOutcome<Piece>,
    progress: Progress,
    limits: CallLimits,
    alarms: Alarms,
    emitted: Emitted,
    emit: Emit<Piece>,
  ) {
    this.outcome = outcome
    this.progress = progress
    this.limits = limits
    this.alarms = alarms
    this.emitted = emitted
    this.emit = emit
    this.startedAt = this.waitingSince = alarms.now()
  }

  readonly watch: StreamWatch = {
    alive: () => this.waitOn(),
    thinking: () => {
      this.works()
      this.waitOn()
    },
    spent: (usage) => this.outcome.spent(usage),
    receipt: (receipt) => this.outcome.signed(receipt),
  }

  readonly onPieces = (pieces: ReadonlyArray<Piece>): Effect.Effect<void> => {
    const { held, outcome } = this
    for (const piece of pieces) outcome.add(piece)
    if (!this.producing) {
      this.producing = pieces.some((piece) => outcome.hasOutput(piece)) || held.length + pieces.length > MAX_HELD
      if (!this.producing) {
        held.push(...pieces)
        return Effect.void
      }
      this.progress.firstOutputAt = this.alarms.clock.currentTimeMillisUnsafe()
      this.works()
    }
    this.waitingSince = undefined
    const all = held.length === 0 ? pieces : [...held, ...pieces]
    this.held = []
    const emitting = Effect.suspend(() => this.emit(this.eventsOf(all)))
    return Effect.andThen(
      emitting,
      Effect.sync(() => this.waitOn()),
    )
  }

  private eventsOf(pieces: ReadonlyArray<Piece>): ReadonlyArray<StreamEvent<Piece>> {
    const { emitted, outcome } = this
    const { provider } = outcome
    const events = pieces.map((chunk): StreamEvent<Piece> => ({ _tag: "Delta", provider, chunk }))
    if (emitted.voided !== undefined) {
      events.unshift({ _tag: "Restarted", reason: emitted.voided, provider, model: outcome.served.model })
      emitted.voided = undefined
    }
    emitted.any = true
    return events
  }

  /**
   * The failure of an attempt that has been silent for too long, or the next moment to look. A timestamp is watched, so
   * that pieces need no timers. It is looked at at least once per idle time, so an idle period that begins meanwhile is
   * noticed. Before the first output, thoughts only prolong the model's time, because other thoughts may be unseen.
   */
  readonly isSilent = (moment: number): Verdict<ProviderFailure | OutOfTime> => {
    const { deadline, firstToken, idle, thinking } = this.limits
    const idleAt = this.working ? (this.waitingSince ?? moment) + idle : 0
    const due = this.producing ? idleAt : Math.max(this.startedAt + (this.working ? thinking : firstToken), idleAt)
    if (moment >= deadline) return outOfTime()
    if (moment >= due) return timedOut(this.producing ? "timeout" : "slow")
    return Math.min(due, moment + idle, deadline)
  }

  /** Notes that the output of this attempt is void. */
  failed(failure: ProviderFailure | OutOfTime): void {
    if (this.producing && failure._tag === "ProviderFailure") this.emitted.voided = failure.kind
  }

  private works(): void {
    this.working = true
    this.progress.working()
  }

  private waitOn(): void {
    this.waitingSince = this.alarms.now()
  }
}
