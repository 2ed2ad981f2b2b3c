/**
 * A connection that is replaced when it breaks or hangs. Meanwhile every command fails at once, so that requests do not
 * wait for Redis.
 */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Redacted, References, Scope } from "effect"
import { Redis } from "effect/persistence"
import { systemCode } from "../../domain/problems/systemErrors.ts"
import { thisMoment } from "../../services/moments.ts"
import { redisObserved, RedisStatus } from "../../services/lifecycle/RedisStatus.ts"

/** Half of the time limit of a command. Only commands under way when Redis hangs wait that long. */
const HALF_PATIENCE = Duration.millis(500)
/** How often Redis is probed, and how long after a loss the next connection is tried. */
const LOOK_EVERY = Duration.seconds(1)
const CONNECT_MS = 2000
/**
 * Longest silence, in milliseconds. Longer than this process itself may stall, because such a stall is no fault of
 * Redis.
 */
const SILENCE_MS = 10_000
/** How long a start waits for the first connection, so that limits are shared from the first request on. */
const START_PATIENCE = Duration.seconds(5)
/** Losses within this time of each other are logged once. */
const LOG_EVERY = Duration.seconds(30)

/** Writes in a script, as counting does: a Redis that is read-only or refuses scripts cannot share anything. */
const PROBE = Redis.script((key: string) => [key], {
  numberOfKeys: 1,
  // The code of a refusal stays the reply's first word; Redis 6 puts text before that of `redis.call`.
  lua: `return redis.pcall("SET", KEYS[1], "1", "PX", 10000)`,
})

interface Connection {
  readonly client: NodeRedis.NodeRedis["Service"]["client"]
  readonly lost: Deferred.Deferred<never, Redis.RedisError>
}

const failed = (cause: unknown) => new Redis.RedisError({ cause })

const offline = Effect.fail(failed(new Error("not connected")))

/** Counting needs neither channels nor further connections. */
const redisThat = (send: Redis.Redis["Service"]["send"]) =>
  Redis.make({ send, subscribe: () => offline, connect: offline })

const open = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
): Effect.fn.Return<Connection, Redis.RedisError, Scope.Scope> {
  const options = {
    url: Redacted.value(url),
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_MS, socketTimeout: SILENCE_MS, reconnectStrategy: false as const },
  }
  // A client that is closed while it connects never finishes closing. So connecting is neither interrupted nor awaited,
  // and ends by its time-outs. The client's log of losses is dropped, because they are logged below.
  const scope = yield* Scope.make()
  const connecting = yield* Layer.buildWithScope(NodeRedis.layer(options), scope).pipe(
    Effect.provideService(References.MinimumLogLevel, "None"),
    Effect.forkDetach,
  )
  yield* Effect.addFinalizer(() =>
    Effect.forkDetach(
      Effect.gen(function* () {
        const exit = yield* Fiber.await(connecting)
        if (Exit.isSuccess(exit)) {
          const { client } = Context.get(exit.value, NodeRedis.NodeRedis)
          // Closing in order would wait for the answers of a Redis that hangs.
          if (client.isOpen) client.destroy()
        }
        yield* Scope.close(scope, Exit.void)
      }),
    ),
  )
  const { client } = Context.get(yield* Fiber.join(connecting), NodeRedis.NodeRedis)
  const lost = yield* Deferred.make<never, Redis.RedisError>()
  client.on("error", (cause) => Deferred.doneUnsafe(lost, Effect.fail(failed(cause))))
  return { client, lost }
})

/**
 * The pause has two halves: after a stall of this process, the second one leaves time to read an answer that has
 * arrived.
 */
const tooLate = Effect.sleep(HALF_PATIENCE).pipe(
  Effect.andThen(Effect.sleep(HALF_PATIENCE)),
  Effect.andThen(Effect.fail(failed(new Error("timed out")))),
)

/** Runs one command. If it is not answered in time, or fails to be sent, the connection is given up. */
const command = <A>({ client, lost }: Connection, parts: ReadonlyArray<string>): Effect.Effect<A, Redis.RedisError> =>
  Effect.raceFirst(
    // An error reply concerns the caller of the command, not the connection.
    Effect.tryPromise({ try: () => client.sendCommand([...parts]) as Promise<A>, catch: failed }).pipe(
      Effect.tapError((error) => (client.isReady ? Effect.void : Deferred.fail(lost, error))),
    ),
    Effect.tapError(tooLate, (error) => Deferred.fail(lost, error)),
  )

/** The kind of failure: a system error's code, or the first word of Redis's reply (`WRONGPASS`, `OOM`). */
const kindOf = ({ cause }: Redis.RedisError): string => {
  if (!(cause instanceof Error)) return "unknown"
  const code = systemCode(cause)
  if (code !== undefined) return code
  return /^[A-Z]{2,}\b/.exec(cause.message)?.[0] ?? cause.message
}

const make = Effect.fnUntraced(function* (url: Redacted.Redacted, probeKey: string) {
  const { host } = new URL(Redacted.value(url))
  let current: Connection | undefined
  let loggedAt = -Infinity
  let isLossLogged = false
  const attempted = yield* Deferred.make<void>()

  const logLoss = Effect.fnUntraced(function* (error: Redis.RedisError) {
    const now = yield* thisMoment
    if (isLossLogged || now - loggedAt < Duration.toMillis(LOG_EVERY)) return
    loggedAt = now
    isLossLogged = true
    yield* Effect.logWarning(
      `Redis cannot be used (${kindOf(error)}): until it can, this process counts rate limits and circuits by itself`,
    ).pipe(Effect.annotateLogs({ host }))
  })
  const logReturn = Effect.suspend(() => {
    if (!isLossLogged) return Effect.void
    isLossLogged = false
    return Effect.logInfo("Redis answers: rate limits and circuits are shared").pipe(Effect.annotateLogs({ host }))
  })

  /** Connects, and fails when the connection is lost. */
  const hold = Effect.gen(function* () {
    const connection = yield* open(url)
    const { eval: run } = yield* redisThat((name, ...args) => command(connection, [name, ...args]))
    const look = run(PROBE)(probeKey)
    yield* look
    yield* Effect.acquireRelease(
      Effect.suspend(() => {
        current = connection
        return Effect.andThen(redisObserved(true), logReturn)
      }),
      () =>
        Effect.suspend(() => {
          current = undefined
          return redisObserved(false)
        }),
    )
    yield* Deferred.succeed(attempted, undefined)
    return yield* Effect.raceFirst(
      Deferred.await(connection.lost),
      Effect.forever(Effect.andThen(Effect.sleep(LOOK_EVERY), look)),
    )
  }).pipe(Effect.scoped)

  yield* redisObserved(false)
  yield* hold.pipe(
    Effect.catch(logLoss),
    Effect.andThen(Deferred.succeed(attempted, undefined)),
    Effect.andThen(Effect.sleep(LOOK_EVERY)),
    Effect.forever,
    Effect.forkScoped,
  )
  yield* Effect.timeoutOption(Deferred.await(attempted), START_PATIENCE)

  const redis = yield* redisThat(<A>(name: string, ...args: ReadonlyArray<string>) =>
    Effect.suspend(() => (current === undefined ? offline : command<A>(current, [name, ...args]))),
  )
  return Context.make(Redis.Redis, redis).pipe(
    Context.add(
      RedisStatus,
      Effect.sync(() => (current === undefined ? "down" : "up")),
    ),
  )
})

/** `Redis`, whose commands fail at once while it is away, and `RedisStatus`, which reports that. Writes `probeKey`. */
export const layerRedisConnection = (url: Redacted.Redacted, probeKey: string): Layer.Layer<Redis.Redis> =>
  Layer.effectContext(make(url, probeKey))
