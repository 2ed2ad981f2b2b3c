import { assert, it } from "@effect/vitest"
import { Clock, DateTime, Duration, Effect, Fiber, Latch, Layer, Schedule, Schema, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { IdempotencyKey, Job } from "../../../src/domain/jobs/job.ts"
import { type JobEvent, positionOf } from "../../../src/domain/jobs/jobEvents.ts"
import type { Page } from "../../../src/domain/operations/storage.ts"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { CostBound } from "../../../src/services/jobs/CostBound.ts"
import { Threads } from "../../../src/services/jobs/Threads.ts"
import { prune } from "../../../src/services/jobs/JobRetention.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, ended, enqueueOne, gateway, makeAgent, services, start, takeJob, use } from "../../support/jobs.ts"
import { settableClock } from "../../support/settableClock.ts"
import { keepingTracer } from "../../support/spans.ts"
import { withinTurns } from "../../support/withinTurns.ts"

const key = IdempotencyKey.make("key-1")
/** Without background tasks: adjusting the clock by days would run them for all those days. */
const still = { leaseRefresh: Duration.days(1000), pruneEvery: Duration.days(1000) }
const stranger = TenantId.make("stranger")

const countOf = (table: string) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(sql<{ n: number }>`SELECT COUNT(*) AS n FROM ${sql(table)}`, (rows) => rows[0]?.n),
  )

describeDatabases("jobs", (database) => {
  const test = <E>(name: string, body: Effect.Effect<void, E, Jobs | Agents | SqlClient.SqlClient>) =>
    it.effect(name, () => Effect.provide(body, services(database.layer, still)))

  test(
    "match their request, and read the same at any time",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent({ max_rounds: 3 })
      const plain = yield* jobs.enqueue(tenant, agent.id, { task: "What is a seal?" })
      assert.deepInclude(plain, {
        agent_id: agent.id,
        agent_version: 1,
        mode: "adversarial",
        status: "queued",
        attempt: 1,
        task: "What is a seal?",
        options: {},
        usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, calls: 0 },
        cost_micro_usd: 0,
        steps: [],
        metadata: {},
      })
      assert.match(plain.trace_id, /^[0-9a-f]{32}$/)
      const messages = [
        { role: "system", content: "Be brief.", vendor_extension: { kept: true } },
        { role: "user", content: [{ type: "text", text: "žluť\u0000\ud83e" }] },
      ] as const
      const rich = yield* jobs.enqueue(tenant, agent.id, {
        messages,
        mode: "verified",
        options: { samples: 5 },
        metadata: { ticket: "42" },
      })
      assert.deepStrictEqual(rich.task, messages)
      assert.strictEqual(rich.mode, "verified")
      for (const job of [plain, rich]) {
        assert.deepStrictEqual(yield* jobs.get(tenant, job.id), job)
        assert.isTrue(Schema.is(Job)(job))
      }
      assert.deepStrictEqual(yield* jobs.queueState, { queued: 2, running: 0, oldestQueuedMs: 0 })
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* jobs.queueState).oldestQueuedMs, 3000)
    }),
  )

  test(
    "are listed newest first, by agent and by status, page by page",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const agents = yield* Agents
      const { agent, tenant } = yield* makeAgent()
      const other = yield* agents.create(tenant, { name: "other" })
      const made = yield* Effect.forEach([agent, other, agent, other, agent], (agent) =>
        jobs.enqueue(tenant, agent.id, { task: "x" }),
      )
      const newestFirst = made.map((job) => job.id).toReversed()
      const ids = (items: ReadonlyArray<Job>) => items.map((job) => job.id)

      const first = yield* jobs.list(tenant, {}, { limit: 3 })
      assert.deepStrictEqual(ids(first.items), newestFirst.slice(0, 3))
      const rest = yield* jobs.list(tenant, {}, { limit: 3, cursor: first.next_cursor })
      assert.deepStrictEqual(ids(rest.items), newestFirst.slice(3))
      assert.isUndefined(rest.next_cursor)

      const [cancelled] = made
      yield* jobs.cancel(tenant, cancelled?.id ?? "")
      const of = (filter: Parameters<typeof jobs.list>[1]) =>
        Effect.map(jobs.list(tenant, filter), ({ items }) => ids(items))
      assert.strictEqual((yield* of({ agent_id: other.id })).length, 2)
      assert.deepStrictEqual(yield* of({ status: "cancelled" }), [cancelled?.id])
      assert.deepStrictEqual(
        yield* of({ status: "queued", agent_id: agent.id }),
        newestFirst.filter((id) =>
          made.some((job) => job.id === id && job.agent_id === agent.id && id !== cancelled?.id),
        ),
      )
      assert.deepStrictEqual(yield* of({ status: "running" }), [])
      assert.strictEqual((yield* Effect.flip(jobs.list(tenant, {}, { cursor: "!" })))._tag, "CursorInvalid")
    }),
  )

  test(
    "are looked for among 2000 jobs a page if no index finds them",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const oldest = yield* jobs.enqueue(tenant, agent.id, { task: "x", mode: "verified" })
      const newest = yield* jobs.enqueue(tenant, agent.id, { task: "x", mode: "direct" })
      const [row] = yield* sql<Record<string, string>>`SELECT * FROM jobs WHERE id = ${newest.id}`
      const copy = Effect.suspend(
        () => sql`INSERT INTO jobs ${sql.insert({ ...row, id: SecureRandom.uuidV7Unsafe() })}`,
      )
      yield* sql.withTransaction(Effect.repeat(copy, { times: 2100 }))
      const of = Effect.fnUntraced(function* (filter: Parameters<typeof jobs.list>[1]) {
        const sizes: Array<number> = []
        let page: Page<Job> = yield* jobs.list(tenant, filter)
        sizes.push(page.items.length)
        while (page.next_cursor !== undefined && sizes.length < 3) {
          page = yield* jobs.list(tenant, filter, { cursor: page.next_cursor })
          sizes.push(page.items.length)
        }
        return [...sizes, page.items[0]?.id]
      })
      assert.deepStrictEqual(yield* of({ mode: "verified" }), [0, 1, oldest.id])
      assert.deepStrictEqual(yield* of({ status: "queued", mode: "verified" }), [0, 1, oldest.id])
      assert.deepStrictEqual(yield* of({ q: oldest.id, mode: "verified" }), [0, 1, oldest.id])
      yield* jobs.cancel(tenant, oldest.id)
      assert.deepStrictEqual(yield* of({ status: "cancelled" }), [1, oldest.id])
      assert.deepStrictEqual(yield* of({ mode: "direct", q: newest.id }), [0, 0, 1, newest.id])
    }),
  )

  test(
    "are listed in pages that one answer can hold, each exactly once",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const made = yield* Effect.forEach([240, 240, 1, 240, 240, 240, 240, 240], (kilobytes) =>
        jobs.enqueue(tenant, agent.id, { task: "x".repeat(kilobytes * 1000) }),
      )
      const huge = JSON.stringify(answer("y".repeat(5_000_000)))
      yield* sql`UPDATE jobs SET result = ${huge} WHERE id = ${made[2]?.id ?? ""}`
      const sizes: Array<number> = []
      const seen: Array<string> = []
      let cursor: string | undefined
      do {
        const page: Page<Job> = yield* jobs.list(tenant, { agent_id: agent.id }, { limit: 6, cursor })
        sizes.push(page.items.length)
        seen.push(...page.items.map((job) => job.id))
        cursor = page.next_cursor
      } while (cursor !== undefined)
      assert.deepStrictEqual(seen, made.map((job) => job.id).toReversed())
      // The one that is too large for any page has one to itself.
      assert.deepStrictEqual(sizes, [4, 1, 1, 2])
    }),
  )

  it.effect("are listed and read together in parts that one answer can hold, of which their steps count", () => {
    const { spans, tracer } = keepingTracer()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const writes = yield* JobWrites
      const { agent, tenant } = yield* makeAgent()
      const made = yield* Effect.forEach(Array.from({ length: 8 }).keys(), (n) =>
        jobs.enqueue(tenant, agent.id, { task: `task ${n}` }),
      )
      const long = "x".repeat(4000)
      const tool = { name: "search", input: long, output: long, is_error: false }
      const problem = makeProblem({
        code: "scripted",
        status: 502,
        title: "As scripted.",
        detail: long + long,
        retryable: true,
      })
      for (const job of made) {
        const lease = yield* Effect.flatMap(takeJob(job), Effect.fromOption)
        for (let call = 1; call <= 40; call++) {
          const step = { step: { kind: "tool", call }, call: null, startedAt: 0, finishedAt: 0 }
          const ended = call % 2 === 0 ? { outcome: "{}", tool } : { outcome: null, problem }
          assert.isTrue(yield* writes.recordStep(lease, { ...step, ...ended }))
        }
      }
      const sizes: Array<number> = []
      let cursor: string | undefined
      do {
        const page: Page<Job> = yield* jobs.list(tenant, {}, { limit: 100, cursor })
        sizes.push(page.items.length)
        cursor = page.next_cursor
      } while (cursor !== undefined)
      assert.deepStrictEqual(sizes, [3, 3, 2])

      spans.length = 0
      const read = yield* Effect.forEach(made, ({ id }) => jobs.get(tenant, id), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        read.map(({ id, steps }) => [id, steps.length]),
        made.map(({ id }) => [id, 40]),
      )
      const reads = spans.filter(({ attributes }) => String(attributes.get("db.query.text")).includes("FROM job_steps"))
      assert.lengthOf(reads, 3)
    }).pipe(Effect.provide(services(database.layer, still)), Effect.withTracer(tracer))
  })

  it.effect("count a person's answer among the bytes of their steps", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      const lease = yield* Effect.flatMap(takeJob(job), Effect.fromOption)
      const asking = { kind: "ask", call: 1, turn: 1 }
      const question = { asking, question: "Go on?", answer_schema: {}, timeoutSeconds: 60 }
      assert.isTrue(yield* (yield* JobWrites).ask(lease, question))
      const { steps } = yield* jobs.input(tenant, job.id, { answer: "x".repeat(3000) })
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ bytes: number }>`SELECT step_bytes AS bytes FROM jobs WHERE id = ${job.id}`
      assert.isAtLeast(row?.bytes ?? 0, JSON.stringify(steps).length)
    }).pipe(Effect.provide(services(database.layer, still))),
  )

  test(
    "are read without the copy of their agent, and followed without their task",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      yield* agents.update(tenant, agent.id, { name: "second version" })
      const job = yield* jobs.enqueue(tenant, agent.id, { task: "x" })
      assert.strictEqual(job.agent_version, 2)
      const step = { job_id: job.id, event: 1, name: "a", step: "{}", status: "failed", started_at: 0, finished_at: 0 }
      yield* sql`INSERT INTO job_steps ${sql.insert(step)}`
      const before = yield* jobs.get(tenant, job.id)

      // An undecodable column proves that it is not read.
      yield* sql`UPDATE jobs SET agent = ${"unreadable"} WHERE id = ${job.id}`
      assert.deepStrictEqual(yield* jobs.get(tenant, job.id), before)
      assert.deepStrictEqual((yield* jobs.list(tenant)).items, [before])
      yield* sql`UPDATE jobs SET task = ${"unreadable"} WHERE id = ${job.id}`
      const first = yield* Stream.runHead(jobs.events(tenant, job.id))
      assert.deepInclude(yield* Effect.fromOption(first), { _tag: "Step", id: "1" })
    }),
  )

  test(
    "are summed up without the copy of their agent",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      for (const options of [{}, { effort: "high" }, { samples: 1 }] as const) {
        yield* jobs.enqueue(tenant, agent.id, { task: "x", mode: "verified", options })
      }
      // Undecodable columns prove that they are not read.
      const unreadable = { status: "completed", finished_at: 0, agent: "unreadable", options: "unreadable" }
      yield* sql`UPDATE jobs SET ${sql.update(unreadable)} WHERE tenant = ${tenant}`
      const { completed, typical_costs } = yield* jobs.summary(tenant, DateTime.makeUnsafe(0))
      assert.strictEqual(completed, 3)
      assert.sameDeepMembers(
        [...typical_costs],
        (["medium", "high"] as const).map((effort) => ({ mode: "verified", effort, cost_micro_usd: 0, jobs: 1 })),
      )
    }),
  )

  test(
    "do not exist for other tenants, and need an agent of their tenant",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, job, tenant } = yield* enqueueOne()
      const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        jobs.get(stranger, job.id),
        jobs.wait(stranger, job.id, "1 minute"),
        jobs.cancel(stranger, job.id),
        jobs.remove(stranger, job.id),
        Stream.runCollect(jobs.events(stranger, job.id)),
      ]
      for (const attempt of attempts) {
        assert.strictEqual((yield* Effect.flip(attempt))._tag, "JobNotFound")
      }
      for (const id of ["", "x", "a\u0000b", "'; DROP TABLE jobs; --"]) {
        assert.strictEqual((yield* Effect.flip(jobs.get(tenant, id)))._tag, "JobNotFound")
        assert.strictEqual((yield* Effect.flip(jobs.enqueue(tenant, id, { task: "x" })))._tag, "AgentNotFound")
      }
      assert.deepStrictEqual((yield* jobs.list(stranger)).items, [])
      assert.strictEqual((yield* Effect.flip(jobs.enqueue(stranger, agent.id, { task: "x" })))._tag, "AgentNotFound")
    }),
  )

  test(
    "leave no step and no idempotency key when they are removed, and free that key for another job",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const enqueue = jobs.enqueue(tenant, agent.id, { task: "What is a seal?" }, key)
      const [job, other] = [yield* enqueue, yield* jobs.enqueue(tenant, agent.id, { task: "What stays?" })]
      const step = { job_id: job.id, event: 1, name: "a", step: "{}", status: "failed", started_at: 0, finished_at: 0 }
      yield* sql`INSERT INTO job_steps ${sql.insert(step)}`
      const follower = yield* Effect.forkChild(Effect.flip(jobs.wait(tenant, job.id, "1 minute")))
      yield* Effect.yieldNow
      yield* jobs.remove(tenant, job.id)
      assert.strictEqual((yield* Fiber.join(follower))._tag, "JobNotFound")
      assert.strictEqual(yield* countOf("job_steps"), 0)
      assert.strictEqual(yield* countOf("idempotency_keys"), 0)
      assert.strictEqual((yield* Effect.flip(jobs.remove(tenant, job.id)))._tag, "JobNotFound")
      assert.deepStrictEqual((yield* jobs.list(tenant)).items, [other])
      assert.notStrictEqual((yield* enqueue).id, job.id)
    }),
  )

  test(
    "outlive their agent, and keep its version from the time of the request",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const agents = yield* Agents
      const { agent, job, tenant } = yield* enqueueOne()
      yield* agents.update(tenant, agent.id, { name: "changed" })
      yield* agents.remove(tenant, agent.id)
      assert.deepStrictEqual(yield* jobs.get(tenant, job.id), job)
      assert.strictEqual((yield* jobs.list(tenant, { agent_id: agent.id })).items.length, 1)
    }),
  )

  test(
    "are cancelled once while they are queued",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      yield* TestClock.adjust("1 second")
      const { job: cancelled, wasOpen } = yield* jobs.cancel(tenant, job.id)
      assert.isTrue(wasOpen)
      assert.strictEqual(cancelled.status, "cancelled")
      assert.isDefined(cancelled.finished_at)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* jobs.cancel(tenant, job.id), { job: cancelled, wasOpen: false })
      assert.deepStrictEqual(yield* jobs.wait(tenant, job.id, "1 hour"), cancelled)
      assert.deepStrictEqual(yield* jobs.queueState, { queued: 0, running: 0, oldestQueuedMs: 0 })
    }),
  )

  test(
    "are made once per idempotency key, in any order of the body's members",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const body = { task: "x", options: { rounds: 1, samples: 2 }, metadata: { a: "1", b: "2" } }
      const same = { metadata: { b: "2", a: "1" }, options: { samples: 2, rounds: 1 }, task: "x" }
      const first = yield* jobs.enqueue(tenant, agent.id, body, key)
      assert.strictEqual((yield* jobs.enqueue(tenant, agent.id, same, key)).id, first.id)
      for (const other of [
        { ...body, task: "y" },
        { ...body, mode: "verified" as const },
        { messages: [{ role: "user" as const, content: "x" }] },
      ]) {
        assert.strictEqual((yield* Effect.flip(jobs.enqueue(tenant, agent.id, other, key)))._tag, "IdempotencyMismatch")
      }
      const { agent: second } = yield* makeAgent()
      assert.strictEqual((yield* Effect.flip(jobs.enqueue(tenant, second.id, body, key)))._tag, "AgentNotFound")
      assert.strictEqual(yield* countOf("jobs"), 1)

      yield* Effect.flatMap(Agents, (agents) => agents.remove(tenant, agent.id))
      assert.strictEqual((yield* jobs.enqueue(tenant, agent.id, body, key)).id, first.id)
    }),
  )

  test(
    "keep keys apart by tenant and by agent, and forget them after 24 hours",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const agents = yield* Agents
      const one = yield* makeAgent()
      const two = yield* makeAgent()
      const sibling = yield* agents.create(one.tenant, { name: "sibling" })
      const a = yield* jobs.enqueue(one.tenant, one.agent.id, { task: "x" }, key)
      const b = yield* jobs.enqueue(two.tenant, two.agent.id, { task: "y" }, key)
      const c = yield* jobs.enqueue(one.tenant, sibling.id, { task: "z" }, key)
      assert.strictEqual(new Set([a.id, b.id, c.id]).size, 3)

      yield* TestClock.adjust("86399 seconds")
      assert.strictEqual((yield* jobs.enqueue(one.tenant, one.agent.id, { task: "x" }, key)).id, a.id)
      yield* TestClock.adjust("1 second")
      const later = yield* jobs.enqueue(one.tenant, one.agent.id, { task: "another" }, key)
      assert.notStrictEqual(later.id, a.id)
      assert.strictEqual((yield* jobs.enqueue(one.tenant, one.agent.id, { task: "another" }, key)).id, later.id)
    }),
  )

  test(
    "do not reveal to other tenants that a request with their key is running",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, job, tenant } = yield* enqueueOne()
      const locked = yield* Latch.make()
      const unlock = yield* Latch.make()
      // On Postgres the request waits until this record is committed or not; SQLite runs one transaction at a time.
      const route = `agents/${agent.id}/execute`
      const record = { tenant, route, key, fingerprint: "", job_id: job.id, expires_at: 1e12 }
      const block = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`INSERT INTO idempotency_keys ${sql.insert(record)}`
          yield* locked.open
          yield* unlock.await
          return yield* Effect.interrupt
        }),
      )
      const blocking = yield* Effect.forkChild(block)
      yield* locked.await
      const request = jobs.enqueue(tenant, agent.id, { task: "x" }, key)
      const underWay = yield* Effect.forkChild(request, { startImmediately: true })
      const asked = yield* Effect.forkChild(Effect.flip(jobs.enqueue(stranger, agent.id, { task: "x" }, key)))
      if (database.kind === "sqlite") yield* unlock.open
      assert.strictEqual((yield* Fiber.join(asked))._tag, "AgentNotFound")
      yield* unlock.open
      yield* Fiber.await(blocking)
      assert.notStrictEqual((yield* Fiber.join(underWay)).id, job.id)
    }),
  )

  test(
    "are to be requested again if the job of their idempotency key was removed while it was looked up",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const request = jobs.enqueue(tenant, agent.id, { task: "x" }, key)
      yield* request
      // The lookup finds no job of this tenant, as if it had been removed just then.
      const { job } = yield* enqueueOne()
      yield* sql`UPDATE idempotency_keys SET job_id = ${job.id}`
      assert.deepInclude(yield* Effect.flip(request), { _tag: "IdempotencyInFlight" })
    }),
  )

  test(
    "are one when 50 requests with one key arrive at the same time",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const results = yield* Effect.all(
        Array.from({ length: 50 }, () => Effect.result(jobs.enqueue(tenant, agent.id, { task: "x" }, key))),
        { concurrency: "unbounded" },
      )
      const ids = new Set<string>()
      for (const result of results) {
        if (result._tag === "Success") ids.add(result.success.id)
        else assert.strictEqual(result.failure._tag, "IdempotencyInFlight")
      }
      assert.strictEqual(ids.size, 1)
      assert.strictEqual(yield* countOf("jobs"), 1)
      assert.strictEqual(yield* countOf("idempotency_keys"), 1)
      assert.isTrue(ids.has((yield* jobs.enqueue(tenant, agent.id, { task: "x" }, key)).id))
    }),
  )

  // SQLite runs one transaction at a time, so a repeat waits for the first request.
  if (database.kind === "postgres") {
    it.live("are refused while a request with their idempotency key runs, in this or another process", () =>
      Effect.gen(function* () {
        const layer = yield* database.create
        const one = yield* start(services(layer, still))
        const { agent, tenant } = yield* use(one.context, makeAgent())
        const request = Effect.flatMap(Jobs, (jobs) => jobs.enqueue(tenant, agent.id, { task: "x" }, key))
        const sql = yield* use(one.context, SqlClient.SqlClient)
        const locked = yield* Latch.make()
        const unlock = yield* Latch.make()
        const block = sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`LOCK TABLE jobs`
            yield* locked.open
            yield* unlock.await
          }),
        )
        const blocking = yield* Effect.forkChild(block)
        yield* locked.await
        const first = yield* Effect.forkChild(use(one.context, request), { startImmediately: true })
        // Under way: it has the key, and waits for the table.
        yield* Effect.repeat(
          sql<{ n: number }>`SELECT COUNT(*) AS n FROM pg_locks WHERE relation = 'jobs'::regclass AND NOT granted`,
          { until: (rows) => rows[0]?.n === 1, schedule: Schedule.spaced("10 millis") },
        )
        const other = yield* start(services(layer, still))
        assert.strictEqual((yield* Effect.flip(use(other.context, request)))._tag, "IdempotencyInFlight")
        assert.strictEqual((yield* Effect.flip(use(one.context, request)))._tag, "IdempotencyInFlight")
        yield* unlock.open
        yield* Fiber.join(blocking)
        const { id } = yield* Fiber.join(first)
        assert.strictEqual((yield* use(one.context, request)).id, id)
      }),
    )
  }

  test(
    "leave no trace when their key cannot be written",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      yield* sql`ALTER TABLE idempotency_keys RENAME COLUMN job_id TO elsewhere`
      const error = yield* Effect.flip(jobs.enqueue(tenant, agent.id, { task: "x" }, key))
      assert.strictEqual(error._tag, "StorageUnavailable")
      assert.strictEqual(yield* countOf("jobs"), 0)
      yield* sql`ALTER TABLE idempotency_keys RENAME COLUMN elsewhere TO job_id`
      yield* jobs.enqueue(tenant, agent.id, { task: "x" }, key)
      assert.strictEqual(yield* countOf("jobs"), 1)
    }),
  )

  test(
    "are removed after their retention, with steps and keys, once they have ended",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, job: open, tenant } = yield* enqueueOne()
      const job = yield* jobs.enqueue(tenant, agent.id, { task: "x" }, key)
      yield* TestClock.adjust("10 days")
      const { job: cancelled } = yield* jobs.cancel(tenant, job.id)
      assert.strictEqual(DateTime.toEpochMillis(cancelled.expires_at), 40 * 86_400_000)
      const step = { job_id: job.id, event: 1, name: "a", step: "{}", status: "failed", started_at: 0, finished_at: 0 }
      yield* sql`INSERT INTO job_steps ${sql.insert(step)}`
      yield* TestClock.adjust("29 days")
      assert.strictEqual(yield* prune, 0)
      assert.strictEqual(yield* countOf("idempotency_keys"), 0)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* prune, 1)
      assert.strictEqual((yield* Effect.flip(jobs.get(tenant, job.id)))._tag, "JobNotFound")
      assert.strictEqual(yield* countOf("job_steps"), 0)
      assert.strictEqual((yield* jobs.get(tenant, open.id)).status, "queued")
    }),
  )

  it.live("are kept for their retention if the clock of this process is years ahead", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      yield* jobs.cancel(tenant, job.id)
      const { clock, set } = yield* settableClock
      set.forward = Duration.toMillis("1000 days")
      assert.strictEqual(yield* Effect.provideService(prune, Clock.Clock, clock), 0)
      assert.strictEqual((yield* jobs.get(tenant, job.id)).status, "cancelled")
    }).pipe(Effect.provide(services(database.layer, still))),
  )

  test(
    "are removed in one pass, in any number, in batches between which others write",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { job, tenant } = yield* enqueueOne()
      yield* jobs.cancel(tenant, job.id)
      const columns = yield* Effect.map(sql<Record<string, unknown>>`SELECT * FROM jobs`, ([row = {}]) =>
        Object.keys(row).filter((name) => name !== "id"),
      )
      const others = sql.literal(columns.join(", "))
      yield* sql`WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < 1200)
        INSERT INTO jobs (id, ${others}) SELECT id || '-' || n, ${others} FROM jobs, copies`
      yield* TestClock.adjust("31 days")
      const pruning = yield* Effect.forkChild(prune)
      const left = new Set<number | undefined>()
      // Each pause is one of the clock.
      while (pruning.pollUnsafe() === undefined) {
        left.add(yield* countOf("jobs"))
        yield* TestClock.adjust("25 millis")
      }
      assert.strictEqual(yield* Fiber.join(pruning), 1201)
      assert.strictEqual(yield* countOf("jobs"), 0)
      assert.isAbove(left.size, 10)
    }),
  )

  it.effect("leave their threads, which are removed when they are as old and have no jobs", () =>
    Effect.gen(function* () {
      const threads = yield* Threads
      const { agent, tenant } = yield* makeAgent()
      const [used, unused] = [yield* threads.create(tenant, agent.id), yield* threads.create(tenant, agent.id)]
      yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "x", thread_id: used.id })
      yield* TestClock.adjust("29 days")
      yield* prune
      assert.strictEqual((yield* threads.list(tenant)).items.length, 2)
      yield* TestClock.adjust("1 day")
      yield* prune
      assert.deepStrictEqual((yield* threads.list(tenant)).items, [used])
      assert.strictEqual((yield* Effect.flip(threads.get(tenant, unused.id)))._tag, "ThreadNotFound")
    }).pipe(Effect.provide(Layer.provideMerge(Threads.layer, services(database.layer, still)))),
  )

  it.effect("are not created in a thread that is deleted after they were checked", () => {
    let meanwhile: Effect.Effect<void> = Effect.void
    const bound = CostBound.of(() => Effect.suspend(() => Effect.as(meanwhile, null)))
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const threads = yield* Threads
      const { agent, tenant } = yield* makeAgent()
      const { id: thread_id } = yield* threads.create(tenant, agent.id)
      meanwhile = Effect.ignore(threads.remove(tenant, thread_id))
      const kept = yield* Effect.forkChild(jobs.enqueue(tenant, agent.id, { task: "x" }))
      const error = yield* Effect.flip(jobs.enqueue(tenant, agent.id, { task: "x", thread_id }))
      assert.strictEqual(error._tag, "ThreadNotFound")
      yield* Fiber.join(kept)
      assert.strictEqual(yield* countOf("jobs"), 1)
    }).pipe(
      Effect.provide(Layer.provideMerge(Threads.layer, services(database.layer, still))),
      Effect.provideService(CostBound, bound),
    )
  })

  it.live("that are being created in a thread while it is deleted go with it", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const threads = yield* Threads
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const { id: thread_id } = yield* threads.create(tenant, agent.id)
      const [created, committed] = [yield* Latch.make(), yield* Latch.make()]
      const creating = yield* jobs
        .enqueue(tenant, agent.id, { task: "x", thread_id })
        .pipe(Effect.andThen(created.open), Effect.andThen(committed.await), sql.withTransaction, Effect.forkChild)
      yield* created.await
      const removing = yield* Effect.forkChild(threads.remove(tenant, thread_id))
      // Unless it waits for the transaction, it ends meanwhile.
      yield* Effect.sleep("200 millis")
      yield* committed.open
      yield* Fiber.join(creating)
      yield* Fiber.join(removing)
      assert.strictEqual(yield* countOf("jobs"), 0)
    }).pipe(Effect.provide(Layer.provideMerge(Threads.layer, services(database.layer, still)))),
  )

  it.effect("stay as long as their idempotency keys, even with a shorter retention", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const request = jobs.enqueue(tenant, agent.id, { task: "x" }, key)
      const keyed = yield* request
      const other = yield* jobs.enqueue(tenant, agent.id, { task: "x" })
      yield* jobs.cancel(tenant, keyed.id)
      yield* jobs.cancel(tenant, other.id)
      yield* TestClock.adjust("23 hours")
      assert.strictEqual(yield* prune, 1)
      assert.strictEqual((yield* request).id, keyed.id)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* prune, 1)
      assert.notStrictEqual((yield* request).id, keyed.id)
    }).pipe(Effect.provide(services(database.layer, { ...still, retention: Duration.hours(1) }))),
  )

  it.effect("are kept as long as their webhooks are attempted", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const end = Effect.fnUntraced(function* (webhook_url?: string) {
        const job = yield* jobs.enqueue(tenant, agent.id, { task: "x", ...(webhook_url && { webhook_url }) })
        yield* jobs.cancel(tenant, job.id)
        return job
      })
      const [, delivered, pending] = [yield* end(), yield* end("https://a.example"), yield* end("https://b.example")]
      yield* sql`UPDATE webhook_deliveries SET outcome = 'delivered' WHERE job_id = ${delivered.id}`
      yield* TestClock.adjust("23 hours")
      assert.strictEqual(yield* prune, 2)
      assert.strictEqual((yield* jobs.get(tenant, pending.id)).status, "cancelled")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* prune, 1)
    }).pipe(Effect.provide(services(database.layer, { ...still, retention: Duration.hours(1) }))),
  )

  it.live("wake waiting clients and followers of their steps", () => {
    const gates = [Latch.makeUnsafe(), Latch.makeUnsafe(), Latch.makeUnsafe()]
    const finish = Latch.makeUnsafe()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      const follow = (after = 0) => Stream.runCollect(jobs.events(tenant, job.id, positionOf(String(after))))
      const brief = (events: ReadonlyArray<JobEvent>) =>
        events.flatMap((event) => {
          if (event._tag === "Step") return [[event.id, event.step.name]]
          return event._tag === "Ended" ? [[event.id, event.job.status]] : []
        })

      const waiting = yield* Effect.forkChild(ended(tenant, job))
      const following = yield* Effect.forkChild(follow())
      const first = yield* Effect.forkChild(Stream.runHead(jobs.events(tenant, job.id)))
      yield* gates[0]?.open ?? Effect.void
      assert.deepInclude(yield* Effect.flatMap(Fiber.join(first), Effect.fromOption), { _tag: "Step", id: "1" })
      assert.notStrictEqual((yield* jobs.wait(tenant, job.id, 0)).status, "completed")
      assert.strictEqual((yield* jobs.wait(tenant, job.id, "20 millis")).status, "running")
      const enough = yield* Latch.make()
      const patient = yield* Effect.forkChild(jobs.wait(tenant, job.id, "1 hour", enough.await))
      yield* Effect.sleep(1)
      yield* enough.open
      assert.strictEqual((yield* Fiber.join(patient)).status, "running")
      assert.strictEqual((yield* jobs.wait(tenant, job.id, "1 hour", Effect.void)).status, "running")
      const resumed = yield* Effect.forkChild(follow(1))
      yield* Effect.forEach(gates, (gate) => gate.open)
      yield* Effect.sleep("100 millis")
      yield* finish.open
      // Well below the time after which waiters look without having been woken.
      const [done, followed, after] = yield* withinTurns("4 seconds")(
        Effect.all([Fiber.join(waiting), Fiber.join(following), Fiber.join(resumed)]),
      )

      const all = [
        ["1", "step-0"],
        ["2", "step-1"],
        ["3", "step-2"],
        ["4", "completed"],
      ]
      assert.strictEqual(done.status, "completed")
      assert.deepStrictEqual(brief(followed), all)
      assert.deepStrictEqual(brief(after), all.slice(1))
      assert.deepStrictEqual(brief(yield* follow()), all)
      assert.deepStrictEqual(brief(yield* follow(3)), all.slice(3))
      assert.deepStrictEqual(brief(yield* follow(4)), [])
    }).pipe(
      Effect.provide(
        gateway(database.layer, (context) =>
          Effect.forEach(gates, (gate, n) =>
            context.step({ kind: `step-${n}` }, Schema.Int, Effect.as(gate.await, { value: n })),
          ).pipe(Effect.andThen(finish.await), Effect.as(answer("x"))),
        ),
      ),
    )
  })

  it.live("end their followers' streams when they are cancelled", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      const following = yield* Effect.forkChild(Stream.runCollect(jobs.events(tenant, job.id)))
      yield* Effect.sleep("50 millis")
      yield* jobs.cancel(tenant, job.id)
      const events = yield* withinTurns("4 seconds")(Fiber.join(following))
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["Ended"],
      )
    }).pipe(Effect.provide(services(database.layer))),
  )
})
