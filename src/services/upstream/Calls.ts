/** Calls a provider for a whole or a streamed answer. Each call succeeds or fails in bounded time. */
import { Effect, Exit, Stream } from "effect"
import type { Usage } from "../../domain/chat/chat.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { placeOfError, typeOfError } from "../../domain/problems/defect.ts"
import type { FailureKind } from "../../domain/upstream/failures.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import type { AskOptions, Emit, Served, StreamEvent } from "../../domain/upstream/upstream.ts"
import type { Timer } from "../Timer.ts"
import type { AnswerReading } from "./answerReaders/AnswerReading.ts"
import { OutOfTime } from "./Deadline.ts"
import { ProviderFailure, type StreamWatch } from "./Provider.ts"
import { textOr } from "./providers/shared/textOr.ts"
import type { UpstreamQuestion } from "./Questions.ts"
import type { ModelTarget } from "./Targets.ts"
import { watched, type WatchResult } from "./watched.ts"

/** A call's limits in ms, and its request's deadline. `thinking` replaces `firstToken` after the first thought. */
export interface CallLimits extends Readonly<
  Record<"answer" | "firstToken" | "thinking" | "idle" | "deadline", number>
> {
  /** Whether it is the last target that the request may fit. */
  readonly isLast: boolean
}

export interface ProviderCall<A> {
  readonly run: Effect.Effect<A, ProviderFailure | OutOfTime>
  /** Milliseconds until the first output of a stream; `null` if there was none, or if the answer came whole. */
  readonly timeToFirstTokenMs: number | null
  /** The provider, model and usage of the answer so far. */
  readonly served: Served | undefined
}

/** The form in which a request is answered: whole or streamed. */
export interface AnswerForm<A> {
  /** Prepares a call to `target`. `working` is called once a stream shows that the model works. */
  readonly attempt: (target: ModelTarget, limits: CallLimits, timer: Timer, working: () => void) => ProviderCall<A>
  /** Whether the caller has output that cannot be revoked. Then no other attempt may follow. */
  readonly isCommitted: () => boolean
  /** Whether another attempt may be paid for. */
  readonly mayCallAgain: Effect.Effect<boolean>
  /** Whether the caller has output of an attempt. */
  readonly hasOutput: () => boolean
}

const outOfTime = () => Exit.fail(new OutOfTime())
/** The limits that an operator may raise. */
const SILENT = {
  answer: { kind: "slow", reason: "no whole answer within UPSTREAM_ANSWER_TIMEOUT" },
  first: { kind: "slow", reason: "no output within the time limit; UPSTREAM_FIRST_TOKEN_TIMEOUT is the longest" },
  next: {
    kind: "timeout",
    reason:
      "no further output within UPSTREAM_IDLE_TIMEOUT (UPSTREAM_ANSWER_TIMEOUT for the last target, or once output is final)",
  },
} as const
const timedOut = (limit: keyof typeof SILENT) => Exit.fail(new ProviderFailure(SILENT[limit]))

/** Fails a call whose translation threw, without the message, because parsers quote their input. */
const notUnderstood =
  ({ provider }: ModelTarget) =>
  (defect: unknown): Effect.Effect<never, ProviderFailure> =>
    Effect.logError("A provider's translation failed").pipe(
      Effect.annotateLogs({
        provider: provider.id,
        error: typeOfError(defect),
        at: placeOfError(defect),
      }),
      Effect.andThen(new ProviderFailure({ kind: "garbage" })),
    )

export const wholeAnswer = <Answer>(
  question: Pick<UpstreamQuestion<Answer, unknown>, "complete">,
  { mayCallAgain = Effect.succeed(true) }: Pick<AskOptions, "mayCallAgain">,
): AnswerForm<{ readonly answer: Answer; readonly served: Served }> => ({
  isCommitted: () => false,
  mayCallAgain,
  hasOutput: () => false,
  attempt: (target, limits, timer) => new WholeCall(question, target, limits, timer),
})

/**
 * A whole answer. A class, because V8 gives each object of a literal with a getter a dictionary of its own; measured, it
 * kept 6 KB of each call until the next full collection.
 */
class WholeCall<Answer> implements ProviderCall<{ readonly answer: Answer; readonly served: Served }> {
  readonly timeToFirstTokenMs = null
  served: Served | undefined
  readonly run: ProviderCall<{ readonly answer: Answer; readonly served: Served }>["run"]

  constructor(
    question: Pick<UpstreamQuestion<Answer, unknown>, "complete">,
    target: ModelTarget,
    { answer: longest, deadline }: CallLimits,
    timer: Timer,
  ) {
    const due = Math.min(timer.now() + longest, deadline)
    const isLate = (moment: number): WatchResult<ProviderFailure | OutOfTime> => {
      if (moment < due) return due
      return due === deadline ? outOfTime() : timedOut("answer")
    }
    const asked = Effect.suspend(() => question.complete(target))
    this.run = watched(timer, asked, isLate).pipe(
      Effect.map(([answer, said]) => ({ answer, served: (this.served = { provider: target.provider.id, ...said }) })),
      Effect.catchDefect(notUnderstood(target)),
    )
  }
}

/** Maximum number of pieces without output that are held back to hide a failure. Further ones count as output. */
const MAX_HELD = 16

/** The output that the caller of a stream already has, across all attempts. */
interface Emitted {
  any: boolean
  /** Why the output so far is void, until `Restarted` is emitted. */
  voided: FailureKind | undefined
}

/**
 * A streamed answer, whose events go to `emit`. If an attempt failed after output, `Restarted` comes just before the
 * first output of the next one, so that it names the target that took over. If none takes over, the stream fails and
 * its partial answer stands.
 */
export const streamedAnswer = <Piece>(
  question: Pick<UpstreamQuestion<unknown, Piece>, "stream" | "reading">,
  { mayCallAgain = Effect.succeed(true), restart = true }: Pick<AskOptions, "mayCallAgain" | "restart">,
  emit: Emit<Piece>,
): AnswerForm<Served> => {
  const emitted: Emitted = { any: false, voided: undefined }
  return {
    isCommitted: () => !restart && emitted.any,
    mayCallAgain,
    hasOutput: () => emitted.any,
    attempt: (target, limits, timer, working) =>
      new StreamCall(question, target, { limits, restart, timer, working, emitted, emit }),
  }
}

interface StreamCallOptions<Piece> {
  readonly limits: CallLimits
  readonly restart: boolean
  readonly timer: Timer
  readonly working: () => void
  readonly emitted: Emitted
  readonly emit: Emit<Piece>
}

class StreamCall<Piece> implements ProviderCall<Served>, StreamWatch {
  readonly run: ProviderCall<Served>["run"]
  timeToFirstTokenMs: number | null = null
  private readonly target: ModelTarget
  private readonly reading: AnswerReading<Piece>
  private readonly options: StreamCallOptions<Piece>
  private readonly startedAt: number
  private usageSoFar: Usage | null = null
  private keptReceipt: KeptReceipt | undefined
  /** Pieces without output, which the caller gets with the first output. */
  private held: Array<Piece> = []
  /** When the last thought came. */
  private thoughtAt: number | undefined
  /** Since when the provider has been silent; `undefined` while a slow reader is being waited for. */
  private waitingSince: number | undefined

  constructor(
    question: Pick<UpstreamQuestion<unknown, Piece>, "stream" | "reading">,
    target: ModelTarget,
    options: StreamCallOptions<Piece>,
  ) {
    const { timer, emitted } = options
    this.target = target
    this.reading = question.reading()
    this.options = options
    this.startedAt = this.waitingSince = timer.now()
    const pieces = Stream.suspend(() => question.stream(target, this))
    this.run = watched(timer, Stream.runForEachArray(pieces, this.onPieces), this.isSilent).pipe(
      // Providers guarantee this. Checked again, because a truncated answer must never pass for a whole one.
      Effect.andThen(
        Effect.suspend(() =>
          this.reading.finished ? Effect.succeed(this.served) : Effect.fail(new ProviderFailure({ kind: "truncated" })),
        ),
      ),
      // Recorded before the failure, so that later output never counts as the rest of this answer.
      Effect.catchDefect(notUnderstood(target)),
      Effect.tapError((failure) =>
        Effect.sync(() => {
          if (this.hasOutput && failure._tag === "ProviderFailure") emitted.voided = failure.kind
        }),
      ),
    )
  }

  /** A complete answer's usage comes from its pieces alone. An incomplete one's is the last that was reported. */
  get served(): Served {
    const { finished, said } = this.reading
    const usage = said.usage ?? (finished ? null : this.usageSoFar)
    const { model, provider } = this.target
    return {
      ...said,
      // A failed call names a model only if its server did.
      ...(finished ? { model: textOr(model, said.model) } : {}),
      provider: provider.id,
      usage,
      ...withoutUndefined({ receipt: this.keptReceipt }),
    }
  }

  alive(): void {
    this.waitingSince = this.options.timer.now()
  }

  thinking(): void {
    this.options.working()
    this.alive()
    this.thoughtAt = this.waitingSince
  }

  spent(usage: Usage): void {
    this.usageSoFar = usage
  }

  receipt(receipt: KeptReceipt): void {
    this.keptReceipt = receipt
  }

  private get hasOutput(): boolean {
    return this.timeToFirstTokenMs !== null
  }

  private readonly onPieces = (pieces: ReadonlyArray<Piece>): Effect.Effect<void> => {
    const { held, reading } = this
    for (const piece of pieces) reading.add(piece)
    if (!this.hasOutput) {
      if (held.length + pieces.length <= MAX_HELD && !pieces.some((piece) => reading.hasOutput(piece))) {
        held.push(...pieces)
        return Effect.void
      }
      this.timeToFirstTokenMs = Math.round(this.options.timer.now() - this.startedAt)
      this.options.working()
    }
    this.waitingSince = undefined
    const all = held.length === 0 ? pieces : [...held, ...pieces]
    this.held = []
    const emitting = Effect.suspend(() => this.options.emit(this.eventsOf(all)))
    return Effect.andThen(
      emitting,
      Effect.sync(() => this.alive()),
    )
  }

  private eventsOf(pieces: ReadonlyArray<Piece>): ReadonlyArray<StreamEvent<Piece>> {
    const provider = this.target.provider.id
    const { emitted } = this.options
    const events = pieces.map((chunk): StreamEvent<Piece> => ({ _tag: "Delta", provider, chunk }))
    if (emitted.voided !== undefined) {
      events.unshift({ _tag: "Restarted", reason: emitted.voided, provider, model: this.served.model })
      emitted.voided = undefined
    }
    emitted.any = true
    return events
  }

  /**
   * Returns the failure of an attempt that has been silent for too long, or the moment of the next check. Comparing a
   * timestamp spares a timer per piece. The next check is at most one silence away, because another silence may begin
   * before it.
   *
   * | phase | limit |
   * |---|---|
   * | until the first thought | `firstToken` from the start |
   * | until the first output; a model may think unseen | `thinking` from the start, or `silence` from its last thought, if later |
   * | after that | `silence` from its last sign |
   *
   * `silence` is `idle`, or the longer `answer` for the last target, or after final output: then cutting a slow answer
   * repairs nothing.
   * After a thought, other signs such as pings count, too, but leave half of the time to a target that can take over.
   */
  private readonly isSilent = (moment: number): WatchResult<ProviderFailure | OutOfTime> => {
    const { limits, restart } = this.options
    const { answer, deadline, firstToken, idle, isLast, thinking } = limits
    const isReplaceable = !isLast && (restart || !this.hasOutput)
    const silence = isReplaceable ? idle : Math.max(idle, answer)
    const silentAt = (this.waitingSince ?? moment) + silence
    const signsUntil = isReplaceable ? (this.startedAt + deadline) / 2 : deadline
    const firstAt =
      this.thoughtAt === undefined
        ? this.startedAt + firstToken
        : Math.max(this.startedAt + thinking, this.thoughtAt + silence, Math.min(silentAt, signsUntil))
    const due = this.hasOutput ? silentAt : firstAt
    if (moment >= deadline) return outOfTime()
    if (moment >= due) return timedOut(this.hasOutput ? "next" : "first")
    return Math.min(due, moment + silence, deadline)
  }
}
