/** Webhooks of jobs while their receiver is away, slow, or gone, with a clock that is set forward. */
import { assert, it } from "@effect/vitest"
import { Clock, Context, DateTime, Duration, Effect, Layer, Schedule, type Scope } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { IpNetwork } from "effect/net"
import { SqlClient } from "effect/sql"
import { SecureRandom } from "effect/crypto"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"
import { ToolNetwork, ToolTenant } from "../../../src/services/tools/ToolNetwork.ts"
import { layerWebhookDelivery } from "../../../src/services/webhooks/layerWebhookDelivery.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import type { DatabaseLayer } from "../../../src/layers/database/Database.ts"
import { describeDatabases } from "../../support/databases.ts"
import { services, start, use } from "../../support/jobs.ts"
import { settableClock } from "../../support/settableClock.ts"
import { toolServer } from "../../support/toolServer.ts"
import { withinTurns } from "../../support/withinTurns.ts"

const networkTo = (...allowed: ReadonlyArray<string>) =>
  ToolNetwork.layer({ allowed: allowed.map((text) => IpNetwork.fromStringUnsafe(text)) })

const delivering = (database: DatabaseLayer, network = networkTo("127.0.0.1/32"), poll = Duration.millis(10)) =>
  layerWebhookDelivery.pipe(
    Layer.provide(network),
    Layer.provideMerge(Webhooks.layer),
    Layer.provideMerge(services(database, { poll })),
    Layer.provideMerge(Drain.layer({ grace: Duration.seconds(1) })),
  )

/** Writes webhooks that nothing delivers yet. */
const undelivered = (database: DatabaseLayer) => Layer.provideMerge(Webhooks.layer, services(database, { workers: 0 }))

/** A receiver that always fails, another that works, and how often the first was asked before the second. */
const brokenAndSound = Effect.gen(function* () {
  let failures = 0
  let before: number | undefined
  const failing = yield* toolServer((_, response) => {
    failures++
    response.writeHead(500).end()
  })
  const receiver = yield* toolServer((_, response) => {
    before ??= failures
    response.writeHead(204).end()
  })
  return { failing, receiver, failuresBefore: () => before }
})

/** Cancels a new job with a webhook, of a new tenant by default. */
const endOne = Effect.fnUntraced(function* (url: string, ofTenant?: TenantId) {
  const tenant = ofTenant ?? TenantId.make(SecureRandom.uuidV7Unsafe())
  const agent = yield* (yield* Agents).create(tenant, { name: "tester" })
  const jobs = yield* Jobs
  yield* (yield* Webhooks).replaceSecret(tenant)
  const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "a secret task", webhook_url: url })
  yield* jobs.cancel(tenant, id)
  return { tenant, id }
})

/** Writes more notices like that of a job. */
const repeat = (id: string, times: number, outcome: "delivered" | null = null) =>
  SqlClient.SqlClient.use(
    (sql) => sql`WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < ${times})
      INSERT INTO webhook_deliveries SELECT id || '-' || n, tenant, job_id, agent_id, url, event, job_status,
        created_at, due_at, leased_until, attempts, ${outcome}, failure, context_id, sealed
      FROM webhook_deliveries, copies WHERE job_id = ${id}`,
  )

const deliveriesOf = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
  return yield* (yield* Webhooks).deliveries(tenant, id)
})

const deliveryOf = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
  const [delivery] = yield* deliveriesOf(tenant, id)
  if (delivery === undefined) throw new Error("The job has no delivery.")
  return delivery
})

type Forward = Effect.Success<typeof settableClock>["set"]

/** Sets the clock to the next attempt, and waits until its outcome is stored. */
const nextAttempt = Effect.fnUntraced(function* (set: Forward, tenant: TenantId, id: string) {
  const sql = yield* SqlClient.SqlClient
  const settled = Effect.repeat(sql`SELECT id FROM webhook_deliveries WHERE leased_until > 0`, {
    while: (leased) => leased.length > 0,
    schedule: Schedule.spaced("5 millis"),
  })
  yield* settled
  const before = yield* deliveryOf(tenant, id)
  if (before.status !== "pending") return before
  const now = yield* DateTime.now
  set.forward += Math.max(0, (before.next_attempt_at ?? now).epochMilliseconds - now.epochMilliseconds)
  for (let looks = 0; looks < 2000; looks++) {
    const { attempts, status } = yield* deliveryOf(tenant, id)
    // The attempt may have been under way when `before` was read.
    if (attempts > before.attempts || status !== "pending") {
      yield* settled
      return yield* deliveryOf(tenant, id)
    }
    yield* Effect.sleep("5 millis")
  }
  throw new Error("There was no attempt.")
})

/** Runs a test with a clock that it can set forward. */
const timed = <A, E>(test: (set: Forward) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.flatMap(settableClock, ({ clock, set }) => Effect.provideService(Effect.scoped(test(set)), Clock.Clock, clock))

describeDatabases("a webhook", (database) => {
  it.live("reaches a receiver that was down for an hour, over a restart of the gateway", () =>
    timed(
      Effect.fnUntraced(function* (set) {
        const created = yield* database.create
        let isDown = true
        const receiver = yield* toolServer((_, response) => void response.writeHead(isDown ? 503 : 204).end())
        const first = yield* start(delivering(created))
        const { id, tenant } = yield* use(first.context, endOne(receiver.url))
        const begun = (yield* DateTime.now).epochMilliseconds
        const passed = Effect.map(DateTime.now, (now) => now.epochMilliseconds - begun)
        for (let attempts = 0; attempts < 4; attempts++) yield* use(first.context, nextAttempt(set, tenant, id))
        yield* first.stop
        const second = yield* start(delivering(created))
        const outage = Effect.gen(function* () {
          let delivery = yield* deliveryOf(tenant, id)
          while ((yield* passed) < 3_600_000) delivery = yield* nextAttempt(set, tenant, id)
          assert.deepInclude(delivery, { status: "pending", last_failure: "The receiver answered with HTTP 503." })
          assert.isBelow(delivery.attempts, 25)
          isDown = false
          return yield* nextAttempt(set, tenant, id)
        })
        const delivery = yield* use(second.context, outage)
        assert.deepInclude(delivery, { status: "delivered" })
        assert.notProperty(delivery, "last_failure")
        assert.isBelow(yield* passed, 3 * 3_600_000)
        const ids = new Set(receiver.requests.map(({ headers }) => headers["webhook-id"]))
        assert.deepStrictEqual([...ids], [delivery.id])
        assert.strictEqual(receiver.requests.length, delivery.attempts)
        const [request] = receiver.requests
        assert.deepInclude(JSON.parse(request?.body ?? "").data, { job_id: id, status: "cancelled" })
        assert.notInclude(request?.body, "secret task")
      }),
    ),
  )

  it.live("is delivered although another's delivery cannot be read", () =>
    Effect.gen(function* () {
      const created = yield* database.create
      const receiver = yield* toolServer((_, response) => void response.writeHead(204).end())
      const before = yield* start(Layer.provideMerge(Webhooks.layer, services(created)))
      const [odd, good] = [
        yield* use(before.context, endOne(receiver.url)),
        yield* use(before.context, endOne(receiver.url)),
      ]
      const corrupt = SqlClient.SqlClient.use(
        (sql) => sql`UPDATE webhook_deliveries SET job_status = 'odd' WHERE job_id = ${odd.id}`,
      )
      yield* use(before.context, corrupt)
      yield* before.stop
      const { context } = yield* start(delivering(created))
      const delivery = yield* use(context, deliveryOf(good.tenant, good.id)).pipe(
        Effect.repeat({ until: ({ status }) => status === "delivered", schedule: Schedule.spaced("5 millis") }),
      )
      assert.strictEqual(delivery.attempts, 1)
    }),
  )

  it.live("that cannot be read is tried again after growing delays, and ends after a day", () =>
    timed(
      Effect.fnUntraced(function* (set) {
        const created = yield* database.create
        const receiver = yield* toolServer((_, response) => void response.writeHead(204).end())
        const before = yield* start(Layer.provideMerge(Webhooks.layer, services(created)))
        yield* use(before.context, endOne(receiver.url))
        yield* before.stop
        const { context } = yield* start(Layer.provideMerge(delivering(created), created))
        const sql = Context.get(context, SqlClient.SqlClient)
        yield* sql`UPDATE webhook_deliveries SET job_status = 'odd', attempts = 3`
        const settled = sql<{ attempts: number; due_at: number; outcome: string | null }>`
          SELECT attempts, due_at, outcome FROM webhook_deliveries WHERE attempts > 3 AND leased_until = 0`
        const [first] = yield* Effect.repeat(settled, { until: (rows) => rows.length > 0 })
        assert.deepInclude(first, { attempts: 4, outcome: null })
        assert.isAbove((first?.due_at ?? 0) - (yield* Clock.currentTimeMillis), 10_000)
        set.forward += Duration.toMillis(Duration.days(1))
        yield* Effect.repeat(settled, { until: ([row]) => row?.outcome === "failed" })
        assert.deepStrictEqual(receiver.requests, [])
      }),
    ),
  )

  it.live("of one tenant does not wait for another's long queue", () =>
    Effect.gen(function* () {
      const { failing, failuresBefore, receiver } = yield* brokenAndSound
      const created = yield* database.create
      const waiting = yield* start(undelivered(created))
      const { id } = yield* use(waiting.context, endOne(failing.url))
      yield* use(waiting.context, repeat(id, 300))
      const { tenant, id: other } = yield* use(waiting.context, endOne(receiver.url))
      yield* waiting.stop
      // Longer than a receiver takes, so that no tenant is busy at the next claim.
      const running = yield* start(delivering(created, undefined, Duration.millis(200)))
      yield* use(
        running.context,
        Effect.repeat(deliveryOf(tenant, other), { while: ({ status }) => status === "pending" }),
      )
      assert.isAtMost(failuresBefore() ?? Infinity, 16)
      yield* running.stop
    }),
  )

  it.live("does not wait for the retries of its tenant's other receivers", () =>
    Effect.gen(function* () {
      const { failing, failuresBefore, receiver } = yield* brokenAndSound
      const created = yield* database.create
      const waiting = yield* start(undelivered(created))
      const { id, tenant } = yield* use(waiting.context, endOne(failing.url))
      yield* use(waiting.context, repeat(id, 60))
      yield* use(
        waiting.context,
        SqlClient.SqlClient.use((sql) => sql`UPDATE webhook_deliveries SET attempts = 3`),
      )
      const other = yield* use(waiting.context, endOne(receiver.url, tenant))
      yield* waiting.stop
      const running = yield* start(delivering(created))
      yield* use(
        running.context,
        Effect.repeat(deliveryOf(tenant, other.id), { while: ({ status }) => status === "pending" }),
      )
      assert.isAtMost(failuresBefore() ?? Infinity, 4)
      yield* running.stop
    }),
  )

  it.live("is sent as soon as one before it has arrived, however many wait", () =>
    Effect.gen(function* () {
      const receiver = yield* toolServer((_, response) => void response.writeHead(204).end())
      const created = yield* database.create
      const waiting = yield* start(undelivered(created))
      const { id, tenant } = yield* use(waiting.context, endOne(receiver.url))
      yield* use(waiting.context, repeat(id, 40))
      yield* waiting.stop
      const running = yield* start(delivering(created, undefined, Duration.hours(1)))
      const pending = Effect.map(deliveriesOf(tenant, id), (all) => all.some(({ status }) => status === "pending"))
      yield* withinTurns("10 seconds")(
        use(running.context, Effect.repeat(pending, { while: (isPending) => isPending })),
      )
      assert.lengthOf(receiver.requests, 41)
      yield* running.stop
    }),
  )

  it.live("arrives however many were delivered before, and to however many tenants", () =>
    Effect.gen(function* () {
      const receiver = yield* toolServer((_, response) => void response.writeHead(204).end())
      const created = yield* database.create
      const waiting = yield* start(undelivered(created))
      const ended = yield* Effect.forEach(Array.from({ length: 20 }), () => use(waiting.context, endOne(receiver.url)))
      const id = ended[0]?.id ?? ""
      yield* use(waiting.context, repeat(id, 200_000, "delivered"))
      // Postgres plans by its statistics.
      yield* use(
        waiting.context,
        SqlClient.SqlClient.use((sql) => sql`ANALYZE webhook_deliveries`),
      )
      yield* waiting.stop
      const running = yield* start(delivering(created))
      for (const { id, tenant } of ended) {
        const pending = Effect.map(deliveriesOf(tenant, id), (all) => all.some(({ status }) => status === "pending"))
        yield* withinTurns("10 seconds")(
          use(running.context, Effect.repeat(pending, { while: (isPending) => isPending })),
        )
      }
      yield* running.stop
    }),
  )

  it.live("is given up after a day", () =>
    timed(
      Effect.fnUntraced(function* (set) {
        const receiver = yield* toolServer((_, response) => void response.writeHead(500).end())
        const { context } = yield* start(delivering(yield* database.create))
        const outage = Effect.gen(function* () {
          const { id, tenant } = yield* endOne(receiver.url)
          let delivery = yield* nextAttempt(set, tenant, id)
          while (delivery.status === "pending") delivery = yield* nextAttempt(set, tenant, id)
          return delivery
        })
        const delivery = yield* use(context, outage)
        assert.deepInclude(delivery, { status: "failed" })
        const now = yield* DateTime.now
        assert.isAbove(now.epochMilliseconds - delivery.created_at.epochMilliseconds, 22 * 3_600_000)
        assert.isBelow(now.epochMilliseconds - delivery.created_at.epochMilliseconds, 25 * 3_600_000)
      }),
    ),
  )

  it.live("is sent once by two gateways, and not again after the receiver answered 410", () =>
    timed(
      Effect.fnUntraced(function* () {
        const receiver = yield* toolServer((_, response) => void response.writeHead(410).end())
        const created = yield* database.create
        const first = yield* start(delivering(created))
        const other = database.kind === "sqlite" ? first : yield* start(delivering(created))
        const jobs = yield* use(
          first.context,
          Effect.forEach(Array.from({ length: 8 }), () => endOne(receiver.url)),
        )
        for (const { id, tenant } of jobs) {
          const delivery = yield* use(other.context, deliveryOf(tenant, id)).pipe(
            Effect.tap(Effect.sleep("5 millis")),
            Effect.repeat({ while: ({ status }) => status === "pending", times: 1000 }),
          )
          assert.deepInclude(delivery, { status: "failed", attempts: 1 })
        }
        assert.strictEqual(receiver.requests.length, 8)
      }),
    ),
  )

  it.live("is sent in the name of its tenant", () =>
    timed(
      Effect.fnUntraced(function* (set) {
        const tenants: Array<string> = []
        const network = Layer.succeed(
          ToolNetwork,
          HttpClient.make((request) =>
            Effect.map(ToolTenant, (tenant) => {
              tenants.push(tenant)
              return HttpClientResponse.fromWeb(request, new Response(null, { status: 204 }))
            }),
          ),
        )
        const { context } = yield* start(delivering(yield* database.create, network))
        const { id, tenant } = yield* use(context, endOne("https://receiver.example/"))
        assert.deepInclude(yield* use(context, nextAttempt(set, tenant, id)), { status: "delivered" })
        assert.deepStrictEqual(tenants, [tenant])
      }),
    ),
  )

  it.live("reaches no private address", () =>
    timed(
      Effect.fnUntraced(function* (set) {
        const receiver = yield* toolServer((_, response) => void response.end())
        const { context } = yield* start(delivering(yield* database.create, networkTo()))
        const refused = Effect.flatMap(endOne(receiver.url), ({ id, tenant }) => nextAttempt(set, tenant, id))
        const delivery = yield* use(context, refused)
        assert.deepInclude(delivery, { status: "failed", attempts: 1 })
        assert.include(delivery.last_failure, "private network")
        assert.strictEqual(receiver.requests.length, 0)
      }),
    ),
  )
})
