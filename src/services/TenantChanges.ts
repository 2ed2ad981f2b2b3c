/** Tells followers, in any process, that jobs or calls of a tenant changed. Without followers nothing is sent. */
import { Clock, Context, Duration, Effect, Latch, Layer, Schedule, Stream } from "effect"
import { JobSignals, type Topic } from "./jobs/JobSignals.ts"
import { KeyedSets } from "./KeyedSets.ts"
import { momentOf } from "./moments.ts"

/** Least time between two announcements of a tenant's changes. */
const PAUSE = Duration.seconds(1)
/** Longest stream. A caller whose access has ended cannot begin another. */
const LONGEST = Duration.minutes(10)
const ANNOUNCED_EVERY = Duration.seconds(5)
/** How long a tenant counts as followed after an announcement. */
const FOLLOWED_FOR = 3 * Duration.toMillis(ANNOUNCED_EVERY)

interface TenantChangesService {
  /** Notes that something of the tenant changed. Belongs after the commit. */
  readonly note: (tenant: string) => Effect.Effect<void>
  /** An element after changes of the tenant, or of any tenant; at most one a second. The first comes after a second. Ends after 10 minutes. */
  readonly follow: (tenant: string | undefined) => Stream.Stream<void>
}

/** Sends nothing by default. */
export const TenantChanges = Context.Reference<TenantChangesService>("sealgate/services/TenantChanges", {
  defaultValue: () => ({ note: () => Effect.void, follow: () => Stream.never }),
})

/** The name of a tenant in topics, which have no spaces. `undefined` stands for all tenants; no tenant is empty. */
const keyOf = (tenant: string | undefined): string => (tenant === undefined ? "" : encodeURIComponent(tenant))

const ALL = keyOf(undefined)

const FOLLOWED = "followed:"
const TENANT = "tenant:"

export const layerTenantChanges: Layer.Layer<never, never, JobSignals> = Layer.effect(
  TenantChanges,
  Effect.gen(function* () {
    const signals = yield* JobSignals
    const clock = yield* Clock.Clock
    const followers = new KeyedSets<Latch.Latch>()
    /** When each tenant ceases to count as followed. */
    const followed = new Map<string, number>()
    const due = new Set<Topic>()
    const isDue = Latch.makeUnsafe()

    const noteFollowed = (key: string, now: number) => {
      for (const [known, until] of followed) if (until <= now) followed.delete(known)
      followed.set(key, now + FOLLOWED_FOR)
    }

    yield* signals.listen((topic) => {
      if (topic.startsWith(FOLLOWED)) noteFollowed(topic.slice(FOLLOWED.length), momentOf(clock))
      else if (topic.startsWith(TENANT)) {
        for (const hasNews of followers.of(topic.slice(TENANT.length))) hasNews.openUnsafe()
      }
    })

    const send = Effect.gen(function* () {
      yield* isDue.await
      const topics = [...due]
      due.clear()
      isDue.closeUnsafe()
      yield* Effect.forEach(topics, signals.publish, { discard: true })
      yield* Effect.sleep(PAUSE)
    })
    yield* Effect.forkScoped(Effect.forever(send))

    const note = (tenant: string) =>
      Effect.sync(() => {
        if (followed.size === 0) return
        const now = momentOf(clock)
        for (const key of [keyOf(tenant), ALL]) {
          if ((followed.get(key) ?? 0) <= now) continue
          due.add(`${TENANT}${key}`)
          isDue.openUnsafe()
        }
      })

    const follow = Effect.fnUntraced(function* (tenant: string | undefined) {
      const key = keyOf(tenant)
      const hasNews = Latch.makeUnsafe(true)
      yield* followers.hold(hasNews, key)
      yield* Effect.forkScoped(Effect.repeat(signals.publish(`${FOLLOWED}${key}`), Schedule.spaced(ANNOUNCED_EVERY)))
      // By then the other processes know this follower, so it misses no change after the first element.
      yield* Effect.sleep(PAUSE)
      return Stream.fromEffectRepeat(Effect.andThen(hasNews.await, hasNews.close))
    })

    return {
      note,
      follow: (tenant) =>
        Stream.unwrap(follow(tenant)).pipe(
          Stream.map(() => undefined),
          Stream.interruptWhen(Effect.sleep(LONGEST)),
        ),
    }
  }),
)
