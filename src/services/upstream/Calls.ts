/** The two ways to call a provider, whole and streamed, each as one call that fails or succeeds in bounded time. */
import { Clock, Duration, Effect, Stream } from "effect"
import type { ChatChunk, ChatRequest } from "../../domain/chat.ts"
import { placeOfError, typeOfError } from "../../domain/defect.ts"
import type { FailureKind } from "../../domain/failures.ts"
import type { Completed, Served, StreamEvent, UpstreamRequest } from "../../domain/upstream.ts"
import { ProviderFailure, type StreamWatch } from "./Provider.ts"
import { servedBy, StreamOutcome } from "./StreamOutcome.ts"
import type { Target } from "./Targets.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** What is known of a call while it runs, for whoever has to account for it even if it never ends well. */
export interface Progress {
  /** When the first output of a stream came, in milliseconds since the epoch. */
  firstOutputAt: number | undefined
  /** What the answer said so far of who gives it and what it cost. */
  served: () => Served | undefined
  /** Called when a stream shows that the model works on its answer, perhaps long before that is complete. */
  readonly working: () => void
}

export interface Call<A> {
  /** Calls a target once. */
  readonly once: (
    target: Target,
    progress: Progress,
    timeouts: UpstreamSettings["timeouts"],
  ) => Effect.Effect<A, ProviderFailure>
  /** Whether another attempt may follow a failure: not if its caller holds output that cannot be taken back. */
  readonly mayGoOn: () => boolean
}

const timedOut = (kind: "slow" | "timeout") => Effect.fail(new ProviderFailure({ kind }))

const withModel = (request: ChatRequest, model: string): ChatRequest =>
  request.model === model ? request : { ...request, model }

/**
 * A defect in a provider's translation: whatever it read, it could not make sense of it. The message is left out of the
 * log, because that of a parser quotes what was parsed.
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
export const completeCall = (request: ChatRequest): Call<Omit<Completed, "attempts">> => ({
  mayGoOn: () => true,
  once: (target, progress, timeouts) =>
    Effect.suspend(() => target.provider.complete(withModel(request, target.model))).pipe(
      Effect.timeoutOrElse({ duration: timeouts.answer, orElse: () => timedOut("slow") }),
      Effect.map((completion) => {
        const served = servedBy(target.provider.id, completion)
        progress.served = () => served
        return { completion, served }
      }),
      Effect.catchDefect(notUnderstood(target)),
    ),
})

/**
 * Chunks without output that are held back at the beginning of an attempt. While nothing but those came, a failure is
 * invisible to the caller; a provider that sends more of them than this is taken to be producing.
 */
const MAX_HELD_CHUNKS = 16

/**
 * A streamed answer, whose events go to `emit`. When an attempt follows one that failed after output, `Restarted` is
 * emitted just before the first output of the new one, so it names who really took over, and a stream that nobody took
 * over fails with its partial answer intact.
 */
export const streamCall = (
  request: UpstreamRequest,
  emit: (events: ReadonlyArray<StreamEvent>) => Effect.Effect<unknown>,
): Call<Served> => {
  const restart = request.restart ?? true
  let emitted = false
  let voided: FailureKind | undefined

  const once = Effect.fnUntraced(function* (
    target: Target,
    progress: Progress,
    timeouts: UpstreamSettings["timeouts"],
  ) {
    const clock = yield* Clock.Clock
    const startedAt = clock.currentTimeMillisUnsafe()
    const provider = target.provider.id
    const outcome = new StreamOutcome(provider)
    progress.served = () => outcome.served
    const held: Array<ChatChunk> = []
    let working = false
    let producing = false
    let waitingSince: number | undefined = startedAt
    const works = () => {
      working = true
      progress.working()
    }
    const waitOn = () => {
      waitingSince = clock.currentTimeMillisUnsafe()
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

    const onChunks = (chunks: ReadonlyArray<ChatChunk>): Effect.Effect<void> => {
      for (const chunk of chunks) outcome.add(chunk)
      if (!producing) {
        producing = chunks.some(hasOutput) || held.length + chunks.length > MAX_HELD_CHUNKS
        if (!producing) {
          held.push(...chunks)
          return Effect.void
        }
        progress.firstOutputAt = clock.currentTimeMillisUnsafe()
        works()
      }
      waitingSince = undefined
      const events = [...held.splice(0), ...chunks].map((chunk): StreamEvent => ({ _tag: "Delta", provider, chunk }))
      if (voided !== undefined) {
        events.unshift({ _tag: "Restarted", reason: voided, provider, model: outcome.served.model })
        voided = undefined
      }
      emitted = true
      return Effect.andThen(emit(events), Effect.sync(waitOn))
    }

    // One fiber that watches a timestamp costs nothing per chunk. It never sleeps longer than the idle time, so it is
    // awake in time for an idle period that begins while it sleeps. Until there is output, a thought can only prolong
    // the time that a model has: what follows it may be thought unseen.
    const silence = Effect.gen(function* () {
      const idle = Duration.toMillis(timeouts.idle)
      const firstToken = Duration.toMillis(timeouts.firstToken)
      while (true) {
        const now = clock.currentTimeMillisUnsafe()
        const idleAt = working ? (waitingSince ?? now) + idle : 0
        const due = producing ? idleAt : Math.max(startedAt + firstToken, idleAt)
        if (now >= due) return yield* timedOut(producing ? "timeout" : "slow")
        yield* Effect.sleep(Math.min(due - now, idle))
      }
    })

    return yield* Stream.suspend(() => target.provider.stream(withModel(request.completion, target.model), watch)).pipe(
      Stream.runForEachArray(onChunks),
      Effect.raceFirst(silence),
      // Providers promise this; checked here too, because a truncated answer must never pass for a whole one.
      Effect.andThen(
        Effect.suspend(() =>
          outcome.finished ? Effect.succeed(outcome.served) : Effect.fail(new ProviderFailure({ kind: "truncated" })),
        ),
      ),
      // Before the failure is noted, so that what follows never passes for the rest of this answer.
      Effect.catchDefect(notUnderstood(target)),
      Effect.tapError((failure) =>
        Effect.sync(() => {
          if (producing) voided = failure.kind
        }),
      ),
    )
  })

  return { once, mayGoOn: () => restart || !emitted }
}

/** Whether a chunk holds anything that a reader would see: text, a refusal, a piece of a tool call, the end. */
const hasOutput = (chunk: ChatChunk): boolean =>
  chunk.choices.some(
    ({ delta, finish_reason }) =>
      finish_reason != null ||
      Object.entries(delta).some(
        ([name, value]) =>
          name !== "role" && value != null && value !== "" && !(Array.isArray(value) && value.length === 0),
      ),
  )
