/** Waits for jobs and follows their steps. */
import { type Duration, Effect, Option, Stream } from "effect"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { isEnded, type Job, type JobEvent } from "../../domain/jobs/job.ts"
import { unavailable, unavailableUnlimited } from "../storedRows.ts"
import { spanned } from "../spans.ts"
import type { JobReads } from "./JobReads.ts"
import { toStep } from "./JobRows.ts"
import { changed, ended, JobSignals } from "./JobSignals.ts"
import { StepsBegun } from "./StepsBegun.ts"

/** Returns `Jobs.wait` and `Jobs.events`. */
export const makeFollowing = Effect.fnUntraced(function* ({ read, state, steps }: JobReads) {
  const signals = yield* JobSignals
  const begunSteps = yield* StepsBegun

  const wait = Effect.fnUntraced(
    function* (tenant: TenantId, id: string, patience: Duration.Input, enough: Effect.Effect<void> = Effect.never) {
      // Before the read, so no signal is missed. The id is still unchecked.
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

  const events = (tenant: TenantId, id: string, after = 0) =>
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
          const asked: StoredEvent = { _tag: "InputRequired", id: last_event, job: yield* read(tenant, id) }
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
      const begun = Stream.map(begunSteps.follow(job), (step): JobEvent => ({ _tag: "Begun", step }))
      return Stream.merge(Stream.paginate(after, next), begun, { haltStrategy: "left" })
    }).pipe(unavailable, Stream.unwrap)

  return { wait, events }
})

/** An event that is stored, and so sent again to clients that follow later. */
type StoredEvent = Exclude<JobEvent, { readonly _tag: "Begun" }>
