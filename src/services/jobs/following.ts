/** Waits for jobs and follows their steps. */
import { Clock, type Duration, Effect, Option, Stream } from "effect"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { isEnded, type Job, type JobId, type JobStep } from "../../domain/jobs/job.ts"
import { type JobPosition, START } from "../../domain/jobs/jobEvents.ts"
import { unavailable, unavailableUnlimited } from "../storedRows.ts"
import { spanned } from "../spans.ts"
import { Follower } from "./Follower.ts"
import type { JobReads } from "./JobReads.ts"
import { toStep } from "./JobRows.ts"
import { changed, ended, JobSignals } from "./JobSignals.ts"
import { type LiveEvent, LiveSteps } from "./LiveSteps.ts"

export const makeFollowing = Effect.fnUntraced(function* ({ read, state, steps, textOf }: JobReads) {
  const signals = yield* JobSignals
  const liveSteps = yield* LiveSteps

  const wait = Effect.fnUntraced(
    function* (tenant: TenantId, id: string, patience: Duration.Input, enough: Effect.Effect<void> = Effect.never) {
      // Subscribes before the read, so no signal is missed. The id is not checked yet.
      const subscription = yield* signals.subscribe(`ended:${id}`)
      const { status } = yield* state(tenant, id)
      if (isEnded(status)) return yield* read(tenant, id)
      const untilEnded = Effect.gen(function* () {
        for (;;) {
          yield* subscription.next
          const job = yield* read(tenant, id)
          if (isEnded(job.status)) return job
        }
      })
      const timeout = Effect.sleep(patience)
      const job = yield* Effect.raceAllFirst<Effect.Effect<Job | void, Effect.Error<typeof untilEnded>>>([
        enough,
        timeout,
        untilEnded,
      ])
      return job ?? (yield* read(tenant, id))
    },
    Effect.scoped,
    unavailableUnlimited,
    spanned("Jobs.wait"),
  )

  const events = (tenant: TenantId, id: string, after: JobPosition = START) =>
    Effect.gen(function* () {
      const { id: job } = yield* state(tenant, id)
      const subscription = yield* signals.subscribe(changed(job), ended(job))
      const readNew = Effect.fnUntraced(function* (after: number) {
        // Reads the status first: an ended job gets no further step, so the steps read after it are complete.
        const { last_event, status } = yield* state(tenant, id)
        const rows = yield* steps([id], after)
        const events = rows.map((row): StoredEvent => ({ _tag: "Step", id: row.event, step: toStep(row) }))
        if (!isEnded(status)) {
          const isAsking = status === "input_required" && last_event > (events.at(-1)?.id ?? after)
          if (!isAsking) return { events, isLast: false }
          const asking = yield* read(tenant, id)
          // The question may have been answered since.
          if (asking.question === undefined) return { events, isLast: false }
          const asked: StoredEvent = { _tag: "InputRequired", id: last_event, job: asking }
          return { events: [...events, asked], isLast: false }
        }
        const end = last_event + 1
        if (after >= end) return { events, isLast: true }
        const last: StoredEvent = { _tag: "Ended", id: end, job: yield* read(tenant, id) }
        return { events: [...events, last], isLast: true }
      }, unavailable)
      const next = Effect.fnUntraced(function* (after: number) {
        const { events, isLast } = yield* readNew(after)
        if (isLast) return [events, Option.none<number>()] as const
        if (events.length === 0) yield* subscription.next
        return [events, Option.some(events.at(-1)?.id ?? after)] as const
      })
      const follower = new Follower(after)
      /** Emits steps that finished earlier, perhaps unread, before a begun one. */
      const inOrder = (heard: StoredEvent | LiveEvent) => {
        if (heard._tag !== "Begun" || !follower.isNew(heard.step)) return Stream.succeed(heard)
        const before = Effect.map(readNew(follower.event), ({ events }) =>
          Stream.fromIterable(events.filter(({ _tag }) => _tag === "Step")),
        )
        return Stream.concat(Stream.unwrap(before), Stream.succeed(heard))
      }
      return Stream.merge(Stream.paginate(after.event, next), liveSteps.follow(job), { haltStrategy: "left" }).pipe(
        Stream.flatMap(inOrder),
        Stream.mapEffect(makeHear({ follower, job, textOf, liveSteps })),
        Stream.flattenIterable,
      )
    }).pipe(unavailable, Stream.unwrap)

  return { wait, events }
})

type StoredEvent =
  | { readonly _tag: "Step"; readonly id: number; readonly step: JobStep }
  | { readonly _tag: "InputRequired"; readonly id: number; readonly job: Job }
  | { readonly _tag: "Ended"; readonly id: number; readonly job: Job }

interface Hearing {
  readonly follower: Follower
  readonly job: JobId
  readonly textOf: JobReads["textOf"]
  readonly liveSteps: LiveSteps
}

/** Returns a function that turns the signals of a job into events of one follower. */
const makeHear = ({ follower, job, liveSteps, textOf }: Hearing) => {
  const finished = Effect.fnUntraced(function* ({ id: event, step }: Extract<StoredEvent, { _tag: "Step" }>) {
    if (event <= follower.event) return []
    const isWritten = step.status === "completed" && step.model !== null
    return follower.step(event, step, isWritten ? yield* textOf(job, event) : undefined)
  })
  const askFor = Effect.fnUntraced(function* (name: string, sent: number) {
    const at = follower.lacks(name, sent, yield* Clock.currentTimeMillis)
    if (at !== undefined) yield* liveSteps.ask(job, name, at)
  })
  return Effect.fnUntraced(function* (heard: StoredEvent | LiveEvent) {
    switch (heard._tag) {
      case "Ended":
        return follower.ended(heard.id, heard.job)
      case "InputRequired":
        return follower.inputRequired(heard.id, heard.job)
      case "Step":
        return yield* finished(heard)
      case "Begun": {
        const events = follower.begun(heard.step)
        // How much text was written before is unknown here.
        if (heard.hasText) yield* askFor(heard.step.name, Infinity)
        return events
      }
      case "Piece": {
        const events = follower.piece(heard.piece)
        yield* askFor(heard.piece.name, heard.piece.sent)
        return events
      }
    }
  })
}
