/** Real servers send whole traces, every metric and the log to an OpenTelemetry collector, and no content. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { spellingsOf } from "../support/canary.ts"
import { sqlite } from "../support/databases.ts"
import { FakeUpstream, fault } from "../support/FakeUpstream.ts"
import { call, databaseUrl, SECRET, tokenFor } from "../support/gateway.ts"
import { type Branch, type OtlpCollector, otlpCollector, outline, type Span, treeOf } from "../support/otlpCollector.ts"
import { runProxy } from "../support/processes.ts"
import { runGateway } from "../support/gatewayProcess.ts"

const MARKS = {
  prompt: "canary-prompt-4711",
  answer: "canary-answer-4712",
  key: "canary-provider-key-4713",
  model: "canary-model-4714",
  task: "canary-task-4715",
  agent: "canary-agent-4716",
  elsewhere: "canary-elsewhere-4717",
}

const assertSilent = (collector: OtlpCollector, more: ReadonlyArray<string> = []) => {
  const text = collector.text()
  assert.isAbove(text.length, 10_000)
  for (const mark of [...Object.values(MARKS), ...more]) {
    for (const spelling of spellingsOf(mark)) {
      const at = text.indexOf(spelling)
      assert.isBelow(at, 0, `${mark}: …${text.slice(Math.max(0, at - 300), at + 100)}…`)
    }
  }
}

/** A caller's trace context. */
const STATE = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"

/** Makes a new trace context. */
const newTrace = (flags = "01") => {
  const traceId = crypto.randomUUID().replaceAll("-", "")
  const spanId = traceId.slice(16)
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` }
}

const sending = (collector: OtlpCollector) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=secret%20of%20the%20collector",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.version=overridden",
})

/** Returns the single request span of a trace. */
const requestOf = (
  collector: OtlpCollector,
  { spanId, traceId }: ReturnType<typeof newTrace>,
  skip?: (span: Span) => boolean,
) => {
  const [root, ...others] = treeOf(collector.spans, traceId, skip)
  assert.deepStrictEqual(others, [])
  if (root === undefined) throw new Error("the trace has no span")
  assert.strictEqual(root.parentSpanId, spanId)
  return root
}

const pick = (span: Branch | undefined, ...keys: ReadonlyArray<string>) =>
  Object.fromEntries(
    keys.flatMap((key) => (span !== undefined && key in span.attributes ? [[key, span.attributes[key]]] : [])),
  )

const GEN_AI = [
  "gen_ai.operation.name",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.response.model",
  "gen_ai.response.finish_reasons",
  "gen_ai.usage.input_tokens",
  "gen_ai.usage.output_tokens",
  "error.type",
  "server.address",
  "sealgate.provider",
  "sealgate.attempt.cause",
]

describe("the proxy", () => {
  it.live("sends each sealed request as one trace with metrics and log, and no content", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const fake = yield* FakeUpstream.make()
      const usage = { input: 9, output: 2 }
      const proxy = yield* runProxy({
        env: {
          ...sending(collector),
          LOG_LEVEL: "trace",
          PROVIDER1_API_KEY: MARKS.key,
          PROVIDER1_BASE_URL: fake.openAi,
          PROVIDER3_API_KEY: MARKS.key,
          PROVIDER3_BASE_URL: fake.anthropic,
          UPSTREAM_RETRIES: "1",
          UPSTREAM_RETRY_BASE: "1ms",
          UPSTREAM_TRACE_HEADERS: "on",
        },
      })
      const as = ({ traceparent }: { readonly traceparent: string }) =>
        proxy.client({
          fetch: (url, init) =>
            fetch(url, {
              ...init,
              headers: [...new Headers(init?.headers), ["traceparent", traceparent], ["tracestate", STATE]],
            }),
        })
      const [complete, stream, failover, secret, unsampled] = [
        newTrace(),
        newTrace(),
        newTrace(),
        newTrace(),
        newTrace("00"),
      ]
      const sealed = newTrace()
      /** The proxy's trace for a request of a caller's trace. */
      const own = new Map<string, string>()
      const asking = async (
        trace: ReturnType<typeof newTrace>,
        ask: (client: ReturnType<typeof as>) => Promise<unknown>,
      ) => {
        const client = as(trace)
        const before = fake.requests.length
        await ask(client)
        const parents = fake.requests.slice(before).map(({ headers }) => headers["traceparent"] ?? "")
        const [traceId = "", ...others] = new Set(parents.map((traceparent) => traceparent.slice(3, 35)))
        assert.deepStrictEqual(others, [])
        own.set(trace.traceId, traceId)
      }
      yield* Effect.promise(async () => {
        fake.always({ text: MARKS.answer, usage })
        await asking(complete, (client) => client.complete({ prompt: MARKS.prompt }))
        await asking(stream, async (client) => (await client.stream({ prompt: MARKS.prompt })).text())
        fake.script(fault.serverError(), fault.status(500, { body: `${MARKS.prompt} ${MARKS.key}` }))
        // A separate conversation, because conversations stay with their slot.
        await asking(failover, (client) => client.complete({ prompt: `${MARKS.prompt} again` }))
        // A provider that serves any model.
        await asking(secret, (client) => client.complete({ prompt: MARKS.prompt, model: MARKS.model }))
        await asking(unsampled, (client) => client.complete({ prompt: MARKS.prompt }))
        await proxy.client().complete({ prompt: MARKS.prompt }, { trace: { traceparent: sealed.traceparent } })
        await fetch(`${proxy.url}/${MARKS.elsewhere}?q=${MARKS.elsewhere}`)
        proxy.kill("SIGTERM")
        assert.strictEqual(await proxy.exit, 0)
      })

      const callsOf = (root: Branch) => completion(root)?.children ?? []
      const completion = (root: Branch) => root.children.find(({ name }) => name === "SealedCompletions.handle")
      const rootOf = (trace: ReturnType<typeof newTrace>) => {
        const [root, ...others] = treeOf(collector.spans, own.get(trace.traceId) ?? "")
        assert.deepStrictEqual(others, [])
        if (root === undefined) throw new Error("the trace has no completion")
        assert.isUndefined(root.parentSpanId)
        return root
      }
      const asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-6-sol",
        "server.address": "127.0.0.1",
        "sealgate.provider": "provider1",
        "sealgate.attempt.cause": "first",
      }
      const served = {
        ...asked,
        "gen_ai.response.model": "gpt-6-sol",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 2,
      }

      // Whole and streamed answers look the same.
      for (const trace of [complete, stream]) {
        const root = rootOf(trace)
        assert.strictEqual(
          outline(root),
          "POST /v1/completions [server](SealedCompletions.handle [internal](chat gpt-6-sol [client]))",
        )
        assert.deepStrictEqual(
          pick(root, "http.request.method", "http.route", "http.response.status_code", "url.path"),
          {
            "http.request.method": "POST",
            "http.route": "/v1/completions",
            "http.response.status_code": 200,
            "url.path": "/v1/completions",
          },
        )
        assert.deepStrictEqual(pick(callsOf(root)[0], ...GEN_AI), served)
      }

      // The call, and only it, joins the trace under the seal.
      assert.deepStrictEqual(
        collector.spans
          .filter(({ traceId }) => traceId === sealed.traceId)
          .map(({ name, parentSpanId }) => [name, parentSpanId]),
        [["chat gpt-6-sol", sealed.spanId]],
      )

      // One retry, then another vendor: each call has a span with its reason.
      const calls = callsOf(rootOf(failover))
      assert.deepStrictEqual(
        calls.map((span) => [span.name, span.status, pick(span, ...GEN_AI)]),
        [
          ["chat gpt-6-sol", "error", { ...asked, "error.type": "unavailable" }],
          ["chat gpt-6-sol", "error", { ...asked, "error.type": "unavailable", "sealgate.attempt.cause": "retry" }],
          [
            "chat claude-sonnet-5-5",
            "ok",
            {
              ...served,
              "gen_ai.provider.name": "anthropic",
              "gen_ai.request.model": "claude-sonnet-5-5",
              "gen_ai.response.model": "claude-sonnet-5-5",
              "sealgate.provider": "provider3",
              "sealgate.attempt.cause": "failover",
            },
          ],
        ],
      )

      // The content of a sealed request is not exported.
      const [unnamed] = callsOf(rootOf(secret))
      assert.strictEqual(unnamed?.name, "chat other")
      assert.notProperty(unnamed?.attributes, "gen_ai.response.model")

      // A trace outside the seal has no effect, not even on sampling.
      const outside = [complete, stream, failover, secret, unsampled].map(({ traceId }) => traceId)
      for (const traceId of outside) assert.deepStrictEqual(treeOf(collector.spans, traceId), [])
      assert.isDefined(completion(rootOf(unsampled)))
      for (const { headers } of fake.requests) {
        const [, , spanId, flags] = headers["traceparent"]?.split("-") ?? []
        assert.strictEqual(flags, "01")
        assert.isUndefined(headers["tracestate"])
        assert.strictEqual(collector.spans.find((span) => span.spanId === spanId)?.kind, "client")
      }

      // Only requests begin traces.
      const sent = new Set([
        ...own.values(),
        // The trace of the request whose seal names another one.
        ...collector.spans.filter(({ name }) => name === "SealedCompletions.handle").map(({ traceId }) => traceId),
        sealed.traceId,
      ])
      for (const span of collector.spans)
        if (!sent.has(span.traceId)) assert.strictEqual(span.kind, "server", span.name)
      const nowhere = collector.spans.find(({ attributes }) => attributes["http.response.status_code"] === 404)
      assert.strictEqual(nowhere?.name, "GET unknown")
      assert.notProperty(nowhere?.attributes, "url.path")

      // The last export, at the end of the shutdown.
      const last = collector.series.filter((series) => series.time === collector.series.at(-1)?.time)
      const total = (name: string, labels: Readonly<Record<string, string>> = {}) =>
        last
          .filter((series) => series.name === name)
          .filter((series) => Object.entries(labels).every(([key, value]) => series.labels[key] === value))
          .reduce((sum, { value }) => sum + value, 0)
      assert.strictEqual(total("sealgate_upstream_calls_total", { outcome: "success" }), 6)
      assert.strictEqual(total("sealgate_upstream_calls_total", { outcome: "unavailable" }), 2)
      assert.strictEqual(total("sealgate_upstream_calls_total", { model: "other" }), 1)
      assert.strictEqual(total("sealgate_upstream_call_duration_seconds"), 8)
      assert.isAbove(total("sealgate_process_start_time_seconds"), 1.7e9)
      const units = new Map(last.map(({ name, unit }) => [name, unit]))
      assert.strictEqual(units.get("sealgate_upstream_call_duration_seconds"), "s")
      assert.strictEqual(units.get("sealgate_upstream_tokens_total"), "{token}")

      const lines = collector.logs.map(({ body }) => body)
      assert.isTrue(lines.some((line) => line.startsWith("sealed proxy listening")))
      const failure = collector.logs.find(({ body }) => body === "Provider call failed")
      assert.strictEqual(failure?.traceId, own.get(failover.traceId))
      assert.strictEqual(failure?.attributes["outcome"], "unavailable")
      // The terminal still has them.
      assert.include(proxy.stdout.join("\n"), "Provider call failed")

      const [resource, ...others] = new Set(
        [...collector.spans, ...collector.series, ...collector.logs].map((sent) => JSON.stringify(sent.resource)),
      )
      assert.deepStrictEqual(others, [])
      const { "service.instance.id": instance, ...attributes } = JSON.parse(resource ?? "{}")
      assert.match(String(instance), /^[\da-f-]{36}$/)
      assert.deepInclude(attributes, {
        "service.name": "sealgate-proxy",
        "service.version": "overridden",
        "deployment.environment.name": "test",
      })
      for (const { headers } of collector.requests) assert.strictEqual(headers["x-api-key"], "secret of the collector")
      assertSilent(collector, ["secret of the collector"])
    }),
  )
})

/** Spans to omit when comparing a trace's shape: the database, and work of jobs around their steps. */
const besides = ({ attributes, name }: Span): boolean =>
  "db.system.name" in attributes || /^(?:JobWrites|Ledger|RoutingConfig|Agents)\./.test(name)

describe("the gateway", () => {
  it.live("sends a request and its job as one trace, even if another process runs the job", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const fake = yield* FakeUpstream.make()
      fake.always({ text: MARKS.answer })
      const env = {
        ...sending(collector),
        OTEL_SERVICE_NAME: "agents",
        OTEL_METRIC_EXPORT_INTERVAL: "250",
        LOG_LEVEL: "trace",
        DATABASE_URL: yield* databaseUrl(sqlite),
        PROVIDER1_API_KEY: MARKS.key,
        PROVIDER1_BASE_URL: fake.openAi,
      }
      const started = (workers: number) => runGateway({ env: { ...env, JOB_WORKERS: String(workers) } })
      const stopped = (running: Effect.Success<ReturnType<typeof started>>) =>
        Effect.promise(() => {
          running.kill("SIGTERM")
          return running.exit
        })
      const token = yield* tokenFor("alice")
      const [kept, dropped] = [newTrace(), newTrace("00")]

      const first = yield* started(0)
      const { json: agent } = yield* call(first, "POST", "/api/v1/agents", {
        token,
        body: { name: MARKS.agent, instructions: MARKS.prompt },
      })
      const jobs: Array<unknown> = []
      for (const { traceparent } of [kept, dropped]) {
        const { json: job } = yield* call(first, "POST", `/api/v1/agents/${agent["id"]}/execute`, {
          token,
          headers: { traceparent, tracestate: STATE, "idempotency-key": `${MARKS.agent}-${jobs.length}` },
          body: { task: MARKS.task, mode: "verified" },
        })
        jobs.push(job["id"])
      }
      assert.strictEqual(yield* stopped(first), 0)

      const second = yield* started(2)
      for (const job of jobs) {
        const { json } = yield* call(second, "GET", `/api/v1/jobs/${job}?wait=60`, { token })
        assert.strictEqual(json["status"], "completed")
      }
      // Gauges are measured at the export interval, and not at the end.
      const isSent = Effect.sync(() => collector.series.some(({ name }) => name === "sealgate_job_queue_depth"))
      yield* Effect.repeat(isSent, { until: (sent) => sent, schedule: Schedule.spaced("20 millis") })
      assert.strictEqual(yield* stopped(second), 0)

      assert.deepStrictEqual([...new Set(fake.requests.map(({ headers }) => headers["tracestate"]))], [STATE])

      const root = requestOf(collector, kept, besides)
      const steps = root.children[0]?.children[0]?.children[0]?.children ?? []
      assert.isAtLeast(steps.length, 2)
      const step = "job.step [internal](Router.call [internal](chat gpt-6-sol [client]))"
      assert.strictEqual(
        outline(root),
        `POST /api/v1/agents/:id/execute [server](Jobs.enqueue [producer](job [consumer](modes.verified [internal](${steps.map(() => step).join(", ")}))))`,
      )
      const enqueue = root.children[0]
      const job = enqueue?.children[0]
      assert.deepStrictEqual([root.traceState, job?.traceState], [STATE, STATE])
      const message = {
        "messaging.system": "sealgate",
        "messaging.destination.name": "jobs",
        "messaging.message.id": jobs[0],
      }
      assert.deepInclude(enqueue?.attributes, { ...message, "messaging.operation.type": "send" })
      assert.deepInclude(job?.attributes, {
        ...message,
        "messaging.operation.type": "process",
        "job.mode": "verified",
        "job.attempt": 1,
        "job.outcome": "completed",
      })
      assert.notStrictEqual(job?.resource["service.instance.id"], root.resource["service.instance.id"])
      assert.strictEqual(job?.resource["service.name"], "agents")
      assert.deepInclude(steps[0]?.children[0]?.children[0]?.attributes, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-6-sol",
        "sealgate.attempt.cause": "first",
      })
      assert.deepStrictEqual(treeOf(collector.spans, dropped.traceId), [])

      // Neither idle workers nor a start begin traces.
      const begun = collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined)
      assert.deepStrictEqual([...new Set(begun.map(({ kind }) => kind))], ["server"])
      assert.includeMembers(
        collector.series.map(({ name }) => name),
        ["sealgate_jobs_ended_total", "sealgate_job_queue_depth", "sealgate_routing_cost_micro_usd_total"],
      )
      assert.isTrue(collector.logs.some(({ body }) => body.startsWith("agent gateway listening")))
      assertSilent(collector, [SECRET, token])
    }),
  )
})
