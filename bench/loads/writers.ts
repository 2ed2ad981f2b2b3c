/** Gateways that write a ledger call and an outcome per step. One unit is one step; the lanes are divided among them. */
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TenantId } from "../../src/domain/jobs/agent.ts"
import { layerPostgres } from "../../src/layers/database/Database.ts"
import { Agents } from "../../src/services/agents/Agents.ts"
import { JobWrites } from "../../src/services/jobs/JobWrites.ts"
import { JobQueue } from "../../src/services/jobs/JobQueue.ts"
import { Jobs } from "../../src/services/jobs/Jobs.ts"
import { Ledger } from "../../src/services/routing/Ledger.ts"
import { callRecord } from "../../test/services/routing/callRecords.ts"
import type { Work } from "../harness/Load.ts"

const TENANT = TenantId.make("bench")
const CONNECTIONS = 3

/** Creates a gateway without workers, and one step writer per lane. */
const makeWriter = async (url: string): Promise<(lane: number) => Promise<void>> => {
  const layer = JobWrites.layer.pipe(
    Layer.provideMerge(Jobs.layer),
    Layer.provideMerge(Layer.mergeAll(Agents.layer, JobQueue.layer, Ledger.layer)),
    Layer.provideMerge(layerPostgres({ url: Redacted.make(url), maxConnections: CONNECTIONS })),
  )
  const context = await Effect.runPromise(Layer.buildWithScope(Layer.fresh(layer), Scope.makeUnsafe()))
  const run = Effect.runPromiseWith(context)
  const jobs = Context.get(context, Jobs)
  const queue = Context.get(context, JobQueue)
  const ledger = Context.get(context, Ledger)
  const writes = Context.get(context, JobWrites)
  const agent = await run(Context.get(context, Agents).create(TENANT, { name: "bench" }))

  const takeOne = Effect.gen(function* () {
    yield* jobs.enqueue(TENANT, agent.id, { task: "What is a seal?" })
    const [lease] = yield* queue.claim(1)
    return lease === undefined ? yield* Effect.die(new Error("There was no job to claim.")) : lease
  })
  const held = new Map<number, Effect.Success<typeof takeOne>>()
  let count = 0
  return async (lane) => {
    const lease = held.get(lane) ?? (await run(takeOne))
    held.set(lane, lease)
    const now = Date.now()
    const exit = await Effect.runPromiseExit(
      Effect.gen(function* () {
        yield* ledger.record([callRecord({ at: now, tenant: TENANT, job: lease.job.id, agent: agent.id })])
        const step = { kind: `step${count++}` }
        return yield* writes.recordStep(lease, {
          step,
          outcome: '"x"',
          call: null,
          startedAt: now,
          finishedAt: now,
        })
      }),
    )
    if (Exit.isFailure(exit) || !exit.value) throw new Error("a step was not written")
  }
}

export const make = async ({ urls }: { readonly urls: ReadonlyArray<string> }): Promise<Work> => {
  const writers: Array<(lane: number) => Promise<void>> = []
  for (const url of urls) writers.push(await makeWriter(url))
  return { unit: (lane) => writers[lane % writers.length]?.(lane) ?? Promise.reject(new Error("no writer")) }
}
