/** Job signals across processes: `NOTIFY` inside the transaction, one `LISTEN` connection per process. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, Queue, Schedule } from "effect"
import { JobSignals, SignalBoard } from "../../services/jobs/JobSignals.ts"

const CHANNEL = "sealgate_jobs"
const RECONNECT_EVERY = Schedule.spaced("1 second")

export const layerPostgresSignals = Layer.effect(
  JobSignals,
  Effect.gen(function* () {
    const pg = yield* PgClient.PgClient
    const board = new SignalBoard()
    let lost = false

    const tellLoss = (reason: string) =>
      Effect.suspend(() => {
        if (lost) return Effect.void
        lost = true
        return Effect.logWarning(`Lost the notification connection: ${reason}`)
      })
    const tellReturn = Effect.suspend(() => {
      if (!lost) return Effect.void
      lost = false
      return Effect.logInfo("The notification connection stands again")
    })

    const listen = Effect.scoped(
      Effect.gen(function* () {
        const notifications = yield* pg.listen(CHANNEL)
        yield* tellReturn
        // Whatever was said while nobody listened is lost: everybody looks for themselves.
        board.wakeAll()
        return yield* Effect.forever(
          Effect.map(Queue.take(notifications), (notification) => board.wake(notification.payload)),
        )
      }),
    )
    yield* listen.pipe(
      Effect.tapError((error) => tellLoss(error.reason._tag)),
      Effect.retry(RECONNECT_EVERY),
      Effect.forkScoped,
    )

    return JobSignals.of({
      publish: (topic) => Effect.asVoid(pg`SELECT pg_notify(${CHANNEL}, ${topic})`),
      subscribe: (topic) => board.subscribe(topic),
    })
  }),
)
