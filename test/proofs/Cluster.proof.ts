/**
 * Three gateway processes on one Postgres and one Redis, under load, while everything that they share fails: they share state,
 * lose nothing acknowledged, report outages and recover.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Cluster, GOOD, SHAKY } from "./cluster/Cluster.ts"
import { callsTo, keysSeen, logged, ready, ticks, until, untilReady } from "./cluster/looks.ts"
import { readRate } from "./cluster/readRate.ts"
import { GATEWAYS, keyOf } from "./fleet.ts"
import { postgresCanStart } from "../support/privatePostgres.ts"
import { redisCanStart } from "../support/privateRedis.ts"
import { run } from "../support/processes.ts"
import { SECRET } from "../support/gateway.ts"

/** The members of a job that the proof reads. */
interface JobDocument {
  readonly id: string
  readonly task: string
  readonly status: string
  readonly usage: { readonly calls: number }
}

const SLOTS = Array.from({ length: GATEWAYS }, (_, slot) => slot)
const ALL_KEYS = SLOTS.map(keyOf)

/** Tolerance between the admitted requests and one bucket. */
const TOLERANCE = 0.05
const CONFIG_MS = 2000
const CIRCUIT_METRIC = `sealgate_upstream_circuit_state{provider="${SHAKY.provider}"}`
/** Including the wait for the database, longer than a job's lease, so the worker no longer owns the job. */
const LONG_OUTAGE = "12 seconds"

const figures = (text: string) => Effect.sync(() => console.info(`  ${text}`))

/** Asserts one shared bucket, reached and within the tolerance. */
const isEnforced = ({ allowed, others, passed, refused, seconds }: Awaited<ReturnType<typeof readRate>>) => {
  assert.deepStrictEqual(others, [])
  assert.isAbove(refused, 0, "the limit was never reached")
  assert.closeTo(passed / allowed, 1, TOLERANCE, `${passed} of ${allowed} in ${seconds} s`)
}

const rateText = ({ allowed, passed, refused, seconds }: Awaited<ReturnType<typeof readRate>>) =>
  `${passed} passed where one bucket allows ${allowed}, ${refused} refused, ${seconds.toFixed(2)} s`

describe.skipIf(!postgresCanStart || !redisCanStart)("three gateways on one Postgres and one Redis", () => {
  layer(Cluster.layer, { excludeTestServices: true, timeout: "2 minutes" })((it) => {
    it.effect("enforce one rate limit", () =>
      Effect.gen(function* () {
        const { gateways, newCaller } = yield* Cluster
        yield* untilReady(gateways, { status: 200, redis: "up" })
        const caller = yield* newCaller()
        const rate = yield* Effect.promise(() => readRate(caller, gateways.all))
        yield* figures(rateText(rate))
        isEnforced(rate)
      }),
    )

    it.effect("share one circuit per target, open and closed", () =>
      Effect.gen(function* () {
        const { gateways, setShaky, upstream } = yield* Cluster
        yield* until(() => keysSeen(upstream, SHAKY.model).size === GATEWAYS)
        const opened = () => logged(gateways, "Circuit opened").length
        const closed = () => logged(gateways, "Circuit closed").length
        assert.strictEqual(opened(), 0)

        const failedFrom = performance.now()
        yield* setShaky(false)
        yield* until(() => opened() > 0)
        const heldFrom = performance.now()
        // While it is open and before the first probe, no gateway calls the target, and the others are used.
        yield* ticks(2000)
        yield* untilReady(gateways, { circuit: [SHAKY.provider, "open"], metric: [CIRCUIT_METRIC, 2] })
        yield* ticks(2000)
        const heldTo = performance.now()
        yield* setShaky(true)
        assert.strictEqual(callsTo(upstream, SHAKY.model, heldFrom, heldTo).length, 0)
        assert.sameMembers([...keysSeen(upstream, GOOD.model, heldFrom, heldTo)], ALL_KEYS)
        assert.strictEqual(opened(), 1, "opened by more than one of them")
        const failures = callsTo(upstream, SHAKY.model, failedFrom, heldFrom).length

        yield* until(() => closed() > 0)
        const closedAt = performance.now()
        yield* untilReady(gateways, { circuit: [SHAKY.provider, "closed"], metric: [CIRCUIT_METRIC, 0] })
        yield* until(() => keysSeen(upstream, SHAKY.model, closedAt).size === GATEWAYS)
        assert.deepStrictEqual([opened(), closed()], [1, 1])
        yield* figures(`${failures} calls until the circuit was open, none by any of the three while it was`)
      }),
    )

    it.effect("share one routing configuration within 2 s", () =>
      Effect.gen(function* () {
        const { gateways, newCaller, upstream } = yield* Cluster
        const admin = yield* newCaller(["admin"])
        const path = "/api/v1/routing/config"
        const [first, second, third] = gateways.all
        if (first === undefined || second === undefined || third === undefined)
          throw new Error("fewer than three gateways")
        const put = (gateway: typeof first, change: object) =>
          Effect.promise(async () => {
            const { json: before } = await admin.ask(gateway, "GET", path)
            const { json, status } = await admin.ask(gateway, "PUT", path, { body: { ...before, ...change } })
            assert.strictEqual(status, 200, JSON.stringify(json))
            return performance.now()
          })
        const prices = { input: 1, output: 1, cached_input: 1 }
        const [target, shaky] = [GOOD, SHAKY].map((name) => ({ ...name, max_context_tokens: 100_000, prices }))

        const withoutAt = yield* put(first, { targets: [target] })
        yield* ticks(CONFIG_MS * 2)
        const last = callsTo(upstream, SHAKY.model, withoutAt).at(-1)?.at ?? withoutAt
        assert.isAtMost(last - withoutAt, CONFIG_MS)
        assert.sameMembers([...keysSeen(upstream, GOOD.model, withoutAt + CONFIG_MS)], ALL_KEYS)

        const withAt = yield* put(second, { targets: [shaky, target], strategy: "fallback" })
        yield* until(() => keysSeen(upstream, SHAKY.model, withAt).size === GATEWAYS)
        const { json } = yield* Effect.promise(() => admin.ask(third, "GET", path))
        assert.deepInclude(json, { version: 2, strategy: "fallback" })
        yield* figures(
          `the last call under the old configuration came ${Math.round(last - withoutAt)} ms after the change`,
        )
      }),
    )

    it.effect("lose nothing if any of them is killed", () =>
      Effect.gen(function* () {
        const { gateways, load, upstream } = yield* Cluster
        yield* Effect.sync(() => (load.phase = "gateway"))
        for (const slot of SLOTS) {
          // In the middle of a call.
          yield* until(() =>
            upstream.requests.some(({ asked, ending }) => asked?.key === keyOf(slot) && ending === undefined),
          )
          yield* gateways.kill(slot)
          yield* ticks(1000)
          yield* gateways.restart(slot)
        }
        yield* untilReady(gateways, { status: 200, redis: "up" })
        yield* Effect.sync(() => (load.phase = "nothing"))
        const acknowledged = [...load.jobs.values()]
        const before = performance.now()
        yield* until(() => acknowledged.every(({ ended }) => ended !== undefined))
        const seconds = ((performance.now() - before) / 1000).toFixed(1)
        yield* figures(`${acknowledged.length} jobs acknowledged so far, all ended ${seconds} s after the last restart`)
        assert.deepStrictEqual(load.wrong, [])
      }),
    )

    it.effect("continue without Redis under separate limits, and share again once it is back", () =>
      Effect.gen(function* () {
        const { gateways, load, newCaller, redis } = yield* Cluster
        const warnings = () => logged(gateways, "Redis cannot be used").length
        const before = [load.ended, warnings()] as const
        yield* redis.stop
        yield* untilReady(gateways, { status: 200, redis: "down", metric: ["sealgate_redis_up", 0] })
        const caller = yield* newCaller()
        const alone = yield* Effect.promise(() =>
          Promise.all(gateways.all.map((gateway) => readRate(caller, [gateway]))),
        )
        for (const rate of alone) isEnforced(rate)
        assert.strictEqual(warnings() - before[1], GATEWAYS, "one warning from each")
        assert.isAbove(load.ended, before[0])

        yield* redis.start
        yield* untilReady(gateways, { status: 200, redis: "up", metric: ["sealgate_redis_up", 1] })
        const other = yield* newCaller()
        const together = yield* Effect.promise(() => readRate(other, gateways.all))
        isEnforced(together)
        assert.deepStrictEqual(load.wrong, [])
        for (const rate of alone) yield* figures(`alone: ${rateText(rate)}`)
        yield* figures(`together again: ${rateText(together)}`)
      }),
    )

    it.effect("report an outage of Postgres, and resume once it is back", () =>
      Effect.gen(function* () {
        const { gateways, load, postgres } = yield* Cluster
        yield* Effect.sync(() => (load.phase = "postgres"))
        yield* postgres.stop("immediate")
        yield* postgres.start
        yield* untilReady(gateways, { status: 200, database: true })

        yield* postgres.stop("fast")
        yield* untilReady(gateways, { status: 503, database: false })
        const late = yield* run(["gateway"], {
          env: { PORT: "0", HOST: "127.0.0.1", JWT_SECRET: SECRET, DATABASE_URL: postgres.url },
        })
        assert.strictEqual(yield* Effect.promise(() => late.exit), 1)
        assert.match(late.stderr.join("\n"), /database/i)
        yield* Effect.sleep(LONG_OUTAGE)
        for (const gateway of gateways.all) assert.strictEqual((yield* ready(gateway)).status, 503)
        const refused = load.answers.get(503) ?? 0
        assert.isAbove(refused, 0)

        yield* postgres.start
        const back = performance.now()
        yield* untilReady(gateways, { status: 200, database: true })
        const seconds = ((performance.now() - back) / 1000).toFixed(1)
        yield* Effect.sync(() => (load.phase = "nothing"))
        yield* figures(`${refused} requests refused with 503 meanwhile, ready again ${seconds} s after it was back`)
        assert.deepStrictEqual(load.wrong, [])
      }).pipe(Effect.scoped),
    )

    it.effect("complete every acknowledged job once", () =>
      Effect.gen(function* () {
        const { gateways, load, upstream } = yield* Cluster
        yield* Effect.promise(() => load.finish())
        assert.deepStrictEqual(load.wrong, [])
        const [gateway] = gateways.all
        if (gateway === undefined) throw new Error("no gateway")
        const listed = new Map<string, JobDocument>()
        for (const caller of new Set([...load.jobs.values()].map(({ caller }) => caller))) {
          let cursor: unknown
          do {
            const page = `/api/v1/jobs?limit=100${cursor === undefined ? "" : `&cursor=${String(cursor)}`}`
            const { json } = yield* Effect.promise(() => caller.ask(gateway, "GET", page))
            // The gateway's contract describes this shape.
            for (const job of json["items"] as ReadonlyArray<JobDocument>) listed.set(job.id, job)
            cursor = json["next_cursor"]
          } while (cursor !== undefined)
        }
        assert.sameMembers([...listed.keys()], [...load.jobs.keys()])
        for (const [id, { ended }] of load.jobs) {
          const { usage, ...job } = JSON.parse(ended ?? "{}") as JobDocument // As above.
          assert.deepInclude(job, { id, status: "completed" })
          const { usage: inAll, ...now } = listed.get(id) ?? { usage }
          assert.deepStrictEqual(now, job, "changed after its end")
          // A repeated call that ended while Postgres was away enters the ledger once it is back, perhaps after the job's end.
          if (inAll.calls === usage.calls) assert.deepStrictEqual(inAll, usage, "changed after its end")
          else {
            assert.isAbove(inAll.calls, usage.calls)
            const isOfJob = new RegExp(`\\b${job.task}\\b`)
            const made = upstream.requests.filter(({ asked }) => asked?.turns.some(({ text }) => isOfJob.test(text)))
            assert.isAtMost(inAll.calls, made.length, "calls that were not made")
          }
        }
        yield* figures(`${listed.size} jobs completed, slowest answer ${Math.round(load.slowestMs)} ms`)
      }),
    )
  })
})
