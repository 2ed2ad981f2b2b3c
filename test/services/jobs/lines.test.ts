/** Tests both kinds of lines in which jobs wait: those of concurrency keys, and those of callers' keys with a cap. */
import { assert, it, layer } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { isEnded, type Job } from "../../../src/domain/jobs/job.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, ended, gateway, makeAgent, services, start, use } from "../../support/jobs.ts"
import { completed, idsOf, inLines, type Lines, makeTenant, newKey, problem, setCap, testJobs } from "./linedUp.ts"

/** Each makes a line in which one job at a time has a place. */
const KINDS: Readonly<Record<string, () => Lines>> = {
  "a concurrency key": () => ({ concurrency: newKey() }),
  "a key with a cap": () => ({ key: newKey(), cap: 1 }),
}

describeDatabases("jobs in lines", (database) => {
  const test = testJobs(database)

  for (const [kind, makeLine] of Object.entries(KINDS)) {
    test(
      `of ${kind} get the place of a job whose process died before it could pass the place on`,
      Effect.gen(function* () {
        const { claim, enqueue } = yield* makeTenant
        const [queue, sql] = [yield* JobQueue, yield* SqlClient.SqlClient]
        const lines = [makeLine(), makeLine(), makeLine()]
        const first = yield* Effect.forEach(lines, (line) => enqueue(line))
        const second = yield* Effect.forEach(lines, (line) => enqueue(line))
        yield* claim
        yield* sql`UPDATE jobs SET status = 'completed', finished_at = 1
          WHERE id IN ${sql.in([first[0]?.id, first[2]?.id])}`
        assert.deepStrictEqual(yield* claim, [])
        yield* queue.requeueAbandoned(first.map(({ id }) => id))
        assert.sameMembers(idsOf(yield* claim), [second[0]?.id, second[2]?.id])
      }),
    )
  }

  it.live("never exceed their limit over three gateways, also while a cap changes, and all end", () =>
    Effect.gen(function* () {
      const here = yield* database.create
      const [running, most] = [new Map<unknown, number>(), new Map<unknown, number>()]
      let isLowered = false
      const program = Effect.fnUntraced(function* ({ task }: { readonly task: unknown }) {
        const now = 1 + (running.get(task) ?? 0)
        running.set(task, now)
        if (task !== "capped" || isLowered) most.set(task, Math.max(now, most.get(task) ?? 0))
        yield* Effect.sleep("5 millis")
        running.set(task, (running.get(task) ?? 0) - 1)
        return answer("done")
      })
      // SQLite serves one process.
      const count = database.kind === "sqlite" ? 1 : 3
      const gateways = yield* Effect.forEach(Array.from({ length: count }), () => start(gateway(here, program)))
      const contexts = gateways.map(({ context }) => context)
      const [context] = contexts
      assert.isDefined(context)
      const { agent, tenant } = yield* use(context, makeAgent())
      const enqueue = (task: string, many: number, lines: Lines) =>
        Effect.forEach(
          Array.from({ length: many }, (_, index) => contexts[index % count] ?? context),
          (at) =>
            use(
              at,
              Jobs.use((jobs) => jobs.enqueue(tenant, agent.id, ...inLines(lines, { task }))),
            ),
          { concurrency: "unbounded" },
        )
      const key = newKey()
      const made = yield* Effect.all(
        [
          enqueue("deploy", 50, { concurrency: "deploy", limit: 2 }),
          enqueue("plain", 10, {}),
          enqueue("capped", 30, { key }),
        ],
        { concurrency: "unbounded" },
      )
      yield* use(context, setCap(tenant, key, 2))
      const begun = running.get("capped") ?? 0
      isLowered = true
      const late = yield* enqueue("capped", 30, { key, cap: 2 })
      const all = yield* Effect.forEach([...made.flat(), ...late], (job) => use(context, ended(tenant, job)), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual([...new Set(all.map(({ status }) => status))], ["completed"])
      assert.strictEqual(most.get("deploy"), 2)
      assert.isAtMost(most.get("capped") ?? 0, Math.max(2, begun))
    }).pipe(Effect.scoped),
  )
})

const Operation = Schema.Struct({
  op: Schema.Literals([
    "enqueue",
    "enqueue",
    "claim",
    "claim",
    "end",
    "fail",
    "retry",
    "ask",
    "crash",
    "cancel",
    "remove",
    "resume",
    "cap",
  ]),
  concurrency: Schema.Literals(["a", "b", "none"]),
  isCapped: Schema.Boolean,
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })),
})
const LIMITS = { a: 1, b: 3, none: Infinity }

const isBehind = ({ waiting }: Job): boolean => waiting?.reason === "concurrency"

const hasPlace = (job: Job): boolean => !isEnded(job.status) && !isBehind(job) && job.waiting?.reason !== "key-limit"

describeDatabases("lines under any order of operations", (database) => {
  layer(services(database.layer, { workersPerTenant: 1000, maxCrashes: 1000, innocentCrashes: 1000 }))((it) => {
    it.effect.prop(
      "are used up to their limits and not beyond, those of concurrency keys in the order in which jobs came",
      [Schema.Array(Operation).check(Schema.isBetweenLength(10, 60))],
      ([operations]) =>
        Effect.gen(function* () {
          const { cap, claim, enqueue, jobs, tenant } = yield* makeTenant
          const [queue, sql, writes] = [yield* JobQueue, yield* SqlClient.SqlClient, yield* JobWrites]
          const caller = newKey()
          let most = 2
          /** The open jobs of each concurrency key in the order in which they came. */
          const came: Record<string, Array<string>> = { a: [], b: [], none: [] }
          const capped = new Set<string>()
          const leases = new Map<string, Lease>()
          const list = Effect.map(jobs.list(tenant, {}, { limit: 100 }), ({ items }) => items)
          for (const { concurrency, isCapped, op, which } of operations) {
            yield* TestClock.adjust("1 milli")
            const line = came[concurrency] ?? []
            const items = yield* list
            const before = items.filter((job) => capped.has(job.id) && hasPlace(job)).length
            const own = items.filter((job) => (job.concurrency?.key ?? "none") === concurrency)
            const held = own.filter((job) => job.status === "running" && leases.has(job.id))
            const lease = leases.get(held[which % Math.max(1, held.length)]?.id ?? "")
            const any = own[which % Math.max(1, own.length)]
            const leave = (id: string) => void line.splice(line.indexOf(id), line.includes(id) ? 1 : 0)
            if (op === "enqueue") {
              const { id } = yield* enqueue({
                ...(concurrency === "none" ? {} : { concurrency, limit: LIMITS[concurrency] }),
                ...(isCapped ? { key: caller, cap: most } : {}),
              })
              line.push(id)
              if (isCapped) capped.add(id)
            } else if (op === "claim") {
              for (const taken of yield* claim) leases.set(taken.job.id, taken)
            } else if ((op === "end" || op === "fail") && lease !== undefined) {
              yield* writes.end(lease, op === "end" ? completed : { status: "failed", problem })
              leave(lease.job.id)
            } else if (op === "retry" && lease !== undefined) {
              yield* writes.fail(lease, { problem, retryAfter: Duration.zero, isFault: false })
            } else if (op === "ask" && lease !== undefined) {
              const asking = { kind: "ask", call: 1, turn: 1 } as const
              yield* writes.ask(lease, { asking, question: "Go on?", answer_schema: {}, timeoutSeconds: 86_400 })
            } else if (op === "crash" && lease !== undefined) {
              yield* sql`UPDATE jobs SET due_at = 0 WHERE id = ${lease.job.id}`
              yield* queue.requeueAbandoned()
            } else if (op === "cancel" && any !== undefined) {
              yield* jobs.cancel(tenant, any.id)
              leave(any.id)
            } else if (op === "remove" && any !== undefined) {
              yield* jobs.remove(tenant, any.id)
              leave(any.id)
            } else if (op === "resume" && any?.status === "failed") {
              yield* jobs.resume(tenant, any.id)
              line.push(any.id)
            } else if (op === "cap") {
              most = 1 + (which % 4)
              yield* cap(caller, most)
            }
            const open = (yield* list).filter(({ status }) => !isEnded(status))
            for (const [name, ids] of Object.entries(came)) {
              const begun = open.filter((job) => (job.concurrency?.key ?? "none") === name && !isBehind(job))
              const expected = ids.slice(0, name === "a" ? LIMITS.a : name === "b" ? LIMITS.b : Infinity)
              assert.sameMembers(
                begun.map(({ id }) => String(id)),
                expected,
                `${op} ${concurrency}`,
              )
            }
            const ofCaller = open.filter(({ id }) => capped.has(id))
            const placed = ofCaller.filter(hasPlace).length
            const expected = Math.min(most, ofCaller.filter((job) => !isBehind(job)).length)
            // Jobs that had begun before a cap was lowered continue.
            assert.isTrue(placed === expected || (placed > expected && placed <= before), `${op}: ${placed}`)
          }
        }),
      { arbitrary: { runs: 60 } },
    )
  })
})
