/**
 * Sends the start of steps to the followers of a job, whichever process works on it. Nothing is stored, and nothing is
 * sent without followers. A follower announces itself repeatedly, because another process may take the job over.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Queue, Schedule, Schema, Stream } from "effect"
import { type JobId, JobStepBegun } from "../../domain/jobs/job.ts"
import { begun, JobSignals, watched } from "./JobSignals.ts"

const ANNOUNCED_EVERY = Duration.seconds(5)
/** How long a job counts as followed after an announcement. */
const FOLLOWED_FOR = Duration.seconds(12)
/** Buffered starts for a slow follower; it loses the oldest. */
const KEPT = 64

interface StepsBegunService {
  /** Announces that a step has begun. It is running until {@link StepsBegunService.end}. */
  readonly begin: (job: JobId, step: JobStepBegun) => Effect.Effect<void>
  /** Marks a step as no longer running. */
  readonly end: (job: JobId, step: JobStepBegun) => void
  /** The job's steps as they begin, running ones first. The stream does not end. */
  readonly follow: (job: JobId) => Stream.Stream<JobStepBegun>
}

/** Sends nothing by default. */
export const StepsBegun = Context.Reference<StepsBegunService>("sealgate/services/jobs/StepsBegun", {
  defaultValue: () => ({ begin: () => Effect.void, end: () => undefined, follow: () => Stream.never }),
})
export type StepsBegun = StepsBegunService

export const layerStepsBegun: Layer.Layer<never, never, JobSignals> = Layer.effect(
  StepsBegun,
  Effect.gen(function* () {
    const signals = yield* JobSignals
    const clock = yield* Clock.Clock
    const run = Effect.runForkWith(yield* Effect.context())
    const underWay = new Registry<JobStepBegun>()
    const followers = new Registry<Queue.Queue<JobStepBegun>>()
    const followedUntil = new Map<string, number>()

    const isFollowed = (job: JobId) => (followedUntil.get(job) ?? 0) > clock.currentTimeMillisUnsafe()
    const announce = (job: string, step: JobStepBegun) =>
      Effect.flatMap(encode(step), (text) => signals.publish(begun(job, text)))

    const noteFollowed = (job: string) => {
      const now = clock.currentTimeMillisUnsafe()
      for (const [other, until] of followedUntil) if (until <= now) followedUntil.delete(other)
      followedUntil.set(job, now + Duration.toMillis(FOLLOWED_FOR))
      for (const step of underWay.of(job)) run(announce(job, step))
    }

    yield* signals.listen((topic) => {
      if (topic.startsWith("watched:")) return noteFollowed(topic.slice("watched:".length))
      if (!topic.startsWith("begun:")) return
      const [, job = "", text = ""] = topic.split(":")
      const step = followers.of(job).size === 0 ? Option.none() : decode(text)
      if (Option.isSome(step)) for (const queue of followers.of(job)) Queue.offerUnsafe(queue, step.value)
    })

    return {
      begin: (job, step) =>
        Effect.suspend(() => {
          underWay.add(job, step)
          return isFollowed(job) ? announce(job, step) : Effect.void
        }),
      end: (job, step) => underWay.remove(job, step),
      follow: (job) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const queue = yield* Queue.sliding<JobStepBegun>(KEPT)
            yield* Effect.acquireRelease(
              Effect.sync(() => followers.add(job, queue)),
              () => Effect.sync(() => followers.remove(job, queue)),
            )
            yield* Effect.forkScoped(Effect.repeat(signals.publish(watched(job)), Schedule.spaced(ANNOUNCED_EVERY)))
            return Stream.fromQueue(queue).pipe(Stream.filter(isFirst()))
          }),
        ),
    } satisfies StepsBegunService
  }),
)

/** Returns a predicate that is true for the first announcement of each step. */
const isFirst = () => {
  const seen = new Set<string>()
  return ({ name, started_at }: JobStepBegun) => {
    const before = seen.size
    return seen.add(`${name} ${started_at.epochMilliseconds}`).size > before
  }
}

/** Sets of items by job. */
class Registry<A> {
  private readonly sets = new Map<string, Set<A>>()

  of(job: string): ReadonlySet<A> {
    return this.sets.get(job) ?? new Set()
  }

  add(job: string, item: A): void {
    const items = this.sets.get(job)
    if (items === undefined) this.sets.set(job, new Set([item]))
    else items.add(item)
  }

  remove(job: string, item: A): void {
    const items = this.sets.get(job)
    items?.delete(item)
    if (items?.size === 0) this.sets.delete(job)
  }
}

/** A step as base64url JSON, because a signal's text contains neither spaces nor colons. */
const SignalText = Schema.StringFromBase64Url.pipe(Schema.decodeTo(Schema.fromJsonString(JobStepBegun)))
const encode = (step: JobStepBegun) => Effect.orDie(Schema.encodeEffect(SignalText)(step))
const decode = Schema.decodeUnknownOption(SignalText)
