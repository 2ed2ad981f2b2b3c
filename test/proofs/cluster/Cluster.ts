/** The deployment under test: private databases, gateways, a fake of the vendors, and load. */
import { Context, Effect, Layer } from "effect"
import { type Fake, FakeUpstream, fault } from "../../support/FakeUpstream.ts"
import { type PrivatePostgres, privatePostgres } from "../../support/privatePostgres.ts"
import { type PrivateRedis, privateRedis } from "../../support/privateRedis.ts"
import { Caller } from "./Caller.ts"
import { type Gateways, SHAKY, startGateways } from "./Gateways.ts"
import { Load } from "./Load.ts"

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
    readonly gateways: Gateways
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
      const gateways = yield* startGateways({ DATABASE_URL: postgres.url, REDIS_URL: redis.url }, upstream)

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
