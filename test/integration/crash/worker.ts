/**
 * A gateway process of the crash test, without the real HTTP surface: it enqueues and reads jobs on request. It runs jobs of
 * agents with tools in their mode, and others with a program whose every step calls the test's counting server. The test
 * kills it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Duration, Effect, Fiber, Layer, Redacted, Schema, Stream } from "effect"
import { IpNetwork } from "effect/net"
import { CreateAgent, TenantId } from "../../../src/domain/jobs/agent.ts"
import { IdempotencyKey, Job } from "../../../src/domain/jobs/job.ts"
import { positionOf } from "../../../src/domain/jobs/jobEvents.ts"
import { layerPostgres, layerSqlite } from "../../../src/layers/database/Database.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import { type JobContext, JobProgram } from "../../../src/services/jobs/JobProgram.ts"
import { layerJobRunner } from "../../../src/services/jobs/JobRunner.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobSettings } from "../../../src/services/jobs/JobSettings.ts"
import { layerLiveSteps } from "../../../src/services/jobs/LiveSteps.ts"
import * as Modes from "../../../src/services/jobs/modes/ModePrograms.ts"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { RoutingConfig } from "../../../src/services/routing/RoutingConfig.ts"
import { ToolNetwork } from "../../../src/services/tools/ToolNetwork.ts"
import { layerTools } from "../../../src/services/tools/Tools.ts"
import { ProviderHttp } from "../../../src/services/upstream/ProviderHttp.ts"
import { makeHttpProvider } from "../../../src/services/upstream/providers/http/HttpProvider.ts"
import { PROVIDERS } from "../../../src/services/upstream/Slots.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { answer, services } from "../../support/jobs.ts"

const [name = "", database = "", counter = "", lease = "15", model = ""] = process.argv.slice(2)
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

/** The test's model, as a provider. */
const layerModel = Layer.unwrap(
  Effect.map(
    makeHttpProvider(PROVIDERS.provider1.format, {
      id: "provider1",
      apiKey: Redacted.make("key"),
      baseUrl: model,
      defaultModel: "model",
    }),
    (provider) => Upstream.layer({ providers: [provider] }),
  ),
).pipe(Layer.provide(ProviderHttp.layer({ ...defaultUpstreamSettings.timeouts, traceHeaders: false })))

const layerLocalTools = Layer.provide(
  layerTools,
  ToolNetwork.layer({ allowed: [IpNetwork.fromStringUnsafe("127.0.0.1/32")] }),
)

const layerProgram = Layer.effect(
  JobProgram,
  JobProgram.useSync((modes) => ({
    run: (context) => (context.agent.tools === undefined ? program(context) : modes.run(context)),
  })),
).pipe(
  Layer.provide(Modes.layer),
  Layer.provide(Router.layer),
  Layer.provide(Layer.merge(RoutingConfig.layer(), layerLocalTools)),
  Layer.provide(layerModel),
)

const layerDatabase = database.startsWith("postgres:")
  ? layerPostgres({ url: Redacted.make(database) })
  : layerSqlite({ filename: database })

const layer = layerJobRunner.pipe(
  Layer.provide(layerProgram),
  Layer.provideMerge(
    services(layerDatabase, {
      ...JobSettings.defaultValue(),
      lease: Duration.seconds(Number(lease)),
      leaseRefresh: Duration.millis((Number(lease) * 1000) / 3),
    }),
  ),
  Layer.provide(Layer.provide(layerLiveSteps, layerDatabase)),
  Layer.provideMerge(Drain.layer({ grace: Duration.seconds(20) })),
)

const decodeAgent = Schema.decodeUnknownEffect(Schema.fromJsonString(CreateAgent))
const encodeJob = Schema.encodeEffect(Job)

const respond = Effect.fnUntraced(function* (request: IncomingMessage) {
  const agents = yield* Agents
  const jobs = yield* Jobs
  const url = new URL(request.url ?? "/", "http://localhost")
  const id = url.searchParams.get("id") ?? ""
  switch (url.pathname) {
    case "/agent":
      return (yield* agents.create(TENANT, yield* decodeAgent(url.searchParams.get("agent")))).id
    case "/enqueue": {
      const key = IdempotencyKey.make(url.searchParams.get("key") ?? "")
      return (yield* jobs.enqueue(TENANT, id, { task: key }, key)).id
    }
    case "/wait":
      return yield* encodeJob(yield* jobs.wait(TENANT, id, "2 seconds"))
    default: {
      const cursor = url.searchParams.get("cursor") ?? undefined
      const { items, next_cursor: next } = yield* jobs.list(TENANT, {}, { limit: 100, cursor })
      return { ids: items.map((job) => job.id), next }
    }
  }
})

/** Sends the events of a job as lines of JSON. */
const follow = Effect.fnUntraced(function* (query: URLSearchParams, response: ServerResponse) {
  const events = (yield* Jobs).events(TENANT, query.get("id") ?? "", positionOf(query.get("last") ?? "0"))
  yield* Stream.runForEach(events, (event) => Effect.sync(() => void response.write(`${JSON.stringify(event)}\n`)))
  response.end()
})

const serve = Effect.gen(function* () {
  const context = yield* Effect.context<Agents | Jobs>()
  const run = Effect.runPromiseWith(context)
  const fork = Effect.runForkWith(context)
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "/", "http://localhost")
    if (url.pathname === "/events") {
      const following = fork(
        Effect.ensuring(
          follow(url.searchParams, response),
          Effect.sync(() => response.destroy()),
        ),
      )
      response.on("close", () => fork(Fiber.interrupt(following)))
      return
    }
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
