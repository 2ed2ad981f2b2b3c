/** The deployment under test: private databases, gateways, a fake of the vendors, and load. */
import { Context, Effect, Layer } from "effect"
import { type Fake, FakeUpstream, fault } from "../../support/FakeUpstream.ts"
import { type PrivatePostgres, privatePostgres } from "../../support/privatePostgres.ts"
import { type PrivateRedis, privateRedis } from "../../support/privateRedis.ts"
import { Caller } from "./Caller.ts"
import { type Fleet, keyOf, startFleet } from "../fleet.ts"
import { Load } from "./Load.ts"

/** Reading requests per tenant and minute. */
export const READ_LIMIT = 300

/** The reliable provider, and the one that a proof breaks. */
export const GOOD = { provider: "provider1", model: "good" } as const
export const SHAKY = { provider: "provider2", model: "shaky" } as const

const CIRCUIT_OPEN_SECONDS = 6

/** Concurrent jobs. */
const LANES = 6
/** Milliseconds per answer: long enough that every fault hits calls in flight. */
const ANSWER_MS = 60

export class Cluster extends Context.Service<
  Cluster,
  {
    readonly postgres: PrivatePostgres
    readonly redis: PrivateRedis
    readonly upstream: Fake
    readonly gateways: Fleet
    readonly load: Load
    /** A new caller, with full buckets. */
    readonly newCaller: (roles?: ReadonlyArray<string>) => Effect.Effect<Caller>
    /** Whether the shaky provider answers. */
    readonly setShaky: (works: boolean) => Effect.Effect<void>
  }
>()("sealgate/test/proofs/cluster/Cluster") {
  static readonly layer = Layer.effect(
    Cluster,
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      const redis = yield* privateRedis()
      const upstream = yield* FakeUpstream.make()
      upstream.always({ text: "ok", delivery: { headersAfter: ANSWER_MS } })
      const gateways = yield* startFleet((slot) => ({
        DATABASE_URL: postgres.url,
        REDIS_URL: redis.url,
        PROVIDER1_API_KEY: keyOf(slot),
        PROVIDER1_BASE_URL: upstream.openAi,
        PROVIDER1_MODEL: GOOD.model,
        PROVIDER2_API_KEY: keyOf(slot),
        PROVIDER2_BASE_URL: upstream.openAi,
        PROVIDER2_MODEL: SHAKY.model,
        UPSTREAM_CIRCUIT_FAILURES: "3",
        UPSTREAM_CIRCUIT_OPEN: `${CIRCUIT_OPEN_SECONDS}s`,
        RATE_LIMIT_READ: `${READ_LIMIT}`,
        MAX_CONNECTIONS_PER_CLIENT: "1000",
        // Each caller has a separate address, as behind a load balancer.
        TRUSTED_PROXIES: "127.0.0.1",
      }))

      let callers = 0
      const newCaller = (roles?: ReadonlyArray<string>) =>
        Effect.suspend(() => Caller.make(`tenant-${++callers}`, callers, roles))
      const load = new Load(gateways, yield* Effect.all(Array.from({ length: LANES }, () => newCaller())))
      return Cluster.of({
        postgres,
        redis,
        upstream,
        gateways,
        load,
        newCaller,
        setShaky: (works) =>
          Effect.sync(() => {
            const reply = works ? { text: "ok", delivery: { headersAfter: ANSWER_MS } } : fault.serverError()
            upstream.when({ model: SHAKY.model }).always(reply)
          }),
      })
    }),
  )
}
