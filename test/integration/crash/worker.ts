/**
 * A gateway process of the crash test, without the real HTTP surface: it enqueues and reads jobs on request, and runs
 * them with a program whose every step calls the test's counting server. The test kills it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Duration, Effect, Layer, Redacted, Schema } from "effect"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { IdempotencyKey, Job } from "../../../src/domain/jobs/job.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import type { JobContext } from "../../../src/services/jobs/JobProgram.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobSettings } from "../../../src/services/jobs/JobSettings.ts"
import { layerPostgres, layerSqlite } from "../../../src/layers/database/Database.ts"
import { answer, gateway } from "../../support/jobs.ts"

const [name = "", database = "", counter = "", lease = "15"] = process.argv.slice(2)
const TENANT = TenantId.make("crash-test")

/** One step: a call that the parent counts and answers with a unique token. */
const callStep = (context: JobContext, step: string) =>
  context.step(
    { kind: step },
    Schema.String,
    Effect.map(
      Effect.promise(async (signal) => {
        const query = new URLSearchParams({ job: context.jobId, step, worker: name })
        const response = await fetch(`${counter}/call?${query}`, { method: "POST", signal })
        return response.text()
      }),
      (value) => ({ value }),
    ),
  )

/** Two steps with three parallel ones between them. */
const program = Effect.fnUntraced(function* (context: JobContext) {
  const before = yield* callStep(context, "before")
  const between = yield* Effect.forEach(["one", "two", "three"], (step) => callStep(context, step), {
    concurrency: "unbounded",
  })
  const after = yield* callStep(context, "after")
  return answer([before, ...between, after].join(" "))
})

const defaults = JobSettings.defaultValue()
const layer = gateway(
  database.startsWith("postgres:")
    ? layerPostgres({ url: Redacted.make(database) })
    : layerSqlite({ filename: database }),
  program,
  {
    ...defaults,
    lease: Duration.seconds(Number(lease)),
    leaseRefresh: Duration.millis((Number(lease) * 1000) / 3),
  },
)

const respond = Effect.fnUntraced(function* (request: IncomingMessage) {
  const agents = yield* Agents
  const jobs = yield* Jobs
  const url = new URL(request.url ?? "/", "http://localhost")
  const id = url.searchParams.get("id") ?? ""
  switch (url.pathname) {
    case "/agent":
      return (yield* agents.create(TENANT, { name: "crash test" })).id
    case "/enqueue": {
      const key = IdempotencyKey.make(url.searchParams.get("key") ?? "")
      return (yield* jobs.enqueue(TENANT, id, { task: key }, key)).id
    }
    case "/wait":
      return yield* Schema.encodeEffect(Job)(yield* jobs.wait(TENANT, id, "2 seconds"))
    default: {
      const cursor = url.searchParams.get("cursor") ?? undefined
      const { items, next_cursor: next } = yield* jobs.list(TENANT, {}, { limit: 100, cursor })
      return { ids: items.map((job) => job.id), next }
    }
  }
})

const serve = Effect.gen(function* () {
  const context = yield* Effect.context<Agents | Jobs>()
  const run = Effect.runPromiseWith(context)
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    run(respond(request)).then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(503).end(String(error)),
    )
  }
  const server = createServer(handle).listen(0, "127.0.0.1", () => {
    const address = server.address()
    if (typeof address === "object") console.log(`ready ${address?.port}`)
  })
  return yield* Effect.never
})

// Exits with its parent, which would otherwise kill it.
process.stdin.resume().on("end", () => process.exit(1))

await Effect.runPromise(Effect.provide(serve, Layer.fresh(layer)))
