/** The services of durable jobs on a test database, with a scripted program and without HTTP. */
import { type Context, Duration, Effect, Layer, Option, Schema, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { type AgentLimits, TenantId } from "../../src/domain/jobs/agent.ts"
import type { Job } from "../../src/domain/jobs/job.ts"
import { makeProblem } from "../../src/domain/problems/problem.ts"
import type { AdversarialResult } from "../../src/domain/jobs/modes/adversarial.ts"
import { Agents } from "../../src/services/agents/Agents.ts"
import { JobWrites } from "../../src/services/jobs/JobWrites.ts"
import { type JobContext, JobFailure, JobProgram } from "../../src/services/jobs/JobProgram.ts"
import { JobQueue } from "../../src/services/jobs/JobQueue.ts"
import { layerJobRunner } from "../../src/services/jobs/JobRunner.ts"
import { Jobs } from "../../src/services/jobs/Jobs.ts"
import { JobSettings } from "../../src/services/jobs/JobSettings.ts"
import { Drain } from "../../src/services/lifecycle/Drain.ts"
import { Ledger } from "../../src/services/routing/Ledger.ts"
import type { DatabaseLayer } from "../../src/layers/database/Database.ts"

const defaults = JobSettings.defaultValue()

/**
 * Shorter waits than in production. Leases stay long: on a busy machine, short ones would expire while their workers
 * live.
 */
const quick: JobSettings = {
  ...defaults,
  workers: 4,
  retryBase: Duration.millis(1),
  poll: Duration.millis(50),
}

/** Everything but workers. */
export const services = (database: DatabaseLayer, settings: Partial<JobSettings> = {}) =>
  Layer.mergeAll(Jobs.layer, JobWrites.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(Agents.layer, JobQueue.layer, Ledger.layer)),
    Layer.provideMerge(database),
    Layer.provideMerge(Layer.succeed(JobSettings, { ...quick, ...settings })),
  )

export type Program = JobProgram["Service"]["run"]

/**
 * The same with workers that run `program`, until its scope closes or its `Drain` begins. The workers have the services of
 * `replaced` in the place of the usual ones.
 */
export const gateway = (
  database: DatabaseLayer,
  program: Program,
  settings?: Partial<JobSettings>,
  grace = Duration.seconds(20),
  replaced: Layer.Layer<never, never, Jobs | JobQueue | JobWrites | SqlClient.SqlClient> = Layer.empty,
) =>
  layerJobRunner.pipe(
    Layer.provide(replaced),
    Layer.provide(Layer.succeed(JobProgram, { run: program })),
    Layer.provideMerge(services(database, settings)),
    Layer.provideMerge(Drain.layer({ grace })),
  )

/** A gateway that can be stopped. Starting it twice simulates two processes. */
export const start = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const context = yield* Layer.buildWithMemoMap(layer, yield* Layer.makeMemoMap, scope)
    return { context, stop: Scope.close(scope, yield* Effect.exit(Effect.void)) }
  })

export const use = <A, E, R>(context: Context.Context<R>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E> =>
  Effect.provideContext(effect, context)

/** A new tenant with an agent. */
export const makeAgent = Effect.fnUntraced(function* (limits: Partial<AgentLimits> = {}) {
  const tenant = TenantId.make(SecureRandom.uuidV7Unsafe())
  const agents = yield* Agents
  return { tenant, agent: yield* agents.create(tenant, { name: "tester", limits }) }
})

/** Creates a queued job of a new tenant. */
export const enqueueOne = Effect.fnUntraced(function* (limits?: Partial<AgentLimits>) {
  const { agent, tenant } = yield* makeAgent(limits)
  const jobs = yield* Jobs
  return { tenant, agent, job: yield* jobs.enqueue(tenant, agent.id, { task: "What is a seal?" }) }
})

/** Has another worker claim a job, even a running one, as if its worker had died. */
export const takeJob = Effect.fnUntraced(function* ({ id }: Pick<Job, "id">) {
  const queue = yield* JobQueue
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE jobs SET due_at = 0 WHERE id = ${id}`
  yield* queue.requeueAbandoned()
  const claimed = yield* queue.claim(1000)
  return Option.fromUndefinedOr(claimed.find(({ job }) => job.id === id))
})

/** Waits for a job to end; after a time limit returns it in its current state. */
export const ended = (tenant: TenantId, job: Pick<Job, "id">) =>
  Effect.flatMap(Jobs, (jobs) => jobs.wait(tenant, job.id, "20 seconds"))

/** Runs one job of a new tenant to its end. */
export const runOne = Effect.fnUntraced(function* (limits?: Partial<AgentLimits>) {
  const { job, tenant } = yield* enqueueOne(limits)
  return yield* ended(tenant, job)
})

export const answer = (text: string): AdversarialResult => ({
  mode: "adversarial",
  answer: text,
  verdict: "upheld",
  confidence: null,
  independent: true,
  calibrated: false,
  objections: [],
  rounds: [],
  participants: [],
})

export const failure = (retryable: boolean, code = "scripted") =>
  new JobFailure({ problem: makeProblem({ code, status: 502, title: "As scripted.", retryable }) })

/** A step of a scripted program that returns a text. */
export const text = <E>(context: JobContext, name: string, value: Effect.Effect<string, E>) =>
  context.step(
    { kind: name },
    Schema.String,
    Effect.map(value, (value) => ({ value })),
  )

export const stepsOf = (job: Job) => job.steps.map(({ name, status }) => `${name} ${status}`)
