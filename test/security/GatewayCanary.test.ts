/** Tokens, secrets, tasks and answers stay out of the gateway's logs, spans and metrics, and out of others' errors. */
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, Metric, References } from "effect"
import { sqlite } from "../support/databases.ts"
import { FakeUpstream, fault, type Reply } from "../support/FakeUpstream.ts"
import { call, callOperator, databaseUrl, SECRET, startGateway, tokenFor } from "../support/gateway.ts"
import { keepingTracer } from "../support/spans.ts"

const PROVIDER_KEY = "canary-provider-key-77aa"
const TENANT_KEY = "canary-tenant-key-55bb"
const MODEL = "gpt-5-mini"
const TASK = "canary-task-c0ffee"
const INSTRUCTIONS = "canary-instructions-d00d"
const NAME = "canary-agent-name-face"
const METADATA = "canary-metadata-feed"
const ANSWER = "canary-answer-beef"
const IDEMPOTENCY_KEY = "canary-idempotency-key-abba"
const MALFORMED = "canary-malformed-cafe"
const CURSOR = "canary-cursor-dead"
const CANARIES = [
  PROVIDER_KEY,
  TENANT_KEY,
  TASK,
  INSTRUCTIONS,
  NAME,
  METADATA,
  ANSWER,
  IDEMPOTENCY_KEY,
  MALFORMED,
  CURSOR,
  SECRET,
]

/** Replies of a provider, good and bad, that say back everything they were sent. */
const replies: ReadonlyArray<Reply> = [
  { text: ANSWER },
  ({ body, key }) => ({ text: `${ANSWER} ${JSON.stringify(body)} ${key}` }),
  ({ body, key }) => fault.status(400, { body: { error: { message: `${ANSWER} ${key} ${JSON.stringify(body)}` } } }),
  ({ body, key }) => fault.status(401, { body: { error: { message: `${ANSWER} ${key} ${JSON.stringify(body)}` } } }),
  ({ body }) => fault.status(200, { body: JSON.stringify(body), headers: { "content-type": "text/html" } }),
]

/** Everything an operator can see while `effect` runs. */
const observed = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make((options) => {
    lines.push(Logger.formatJson.log(options), Logger.formatLogFmt.log(options), inspect(options.message, ALL))
  })
  const { spans, tracer } = keepingTracer()
  const value = yield* effect.pipe(
    Effect.provideService(References.MinimumLogLevel, "All"),
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.withTracer(tracer),
    Effect.provide(Logger.layer([logger])),
  )
  const traces = spans.map(({ attributes, events, name, status }) =>
    inspect(
      {
        name,
        attributes,
        events,
        failure: status._tag === "Ended" && Exit.isFailure(status.exit) ? status.exit : undefined,
      },
      ALL,
    ),
  )
  return { value, lines, logs: lines.join("\n"), spans: traces }
})

const ALL = { depth: 30, showHidden: true, maxStringLength: Infinity, maxArrayLength: Infinity }

describe("the logs, files and metrics of a gateway", () => {
  it.live("contain nothing that callers or providers said", () =>
    Effect.gen(function* () {
      const fake = yield* FakeUpstream.make()
      const file = yield* databaseUrl(sqlite)
      const token = yield* tokenFor("alice")
      const owner = yield* tokenFor("owner")
      const forged = `${token.slice(0, -10)}canarycana`

      const session = Effect.gen(function* () {
        const gateway = yield* startGateway(
          file,
          {
            PROVIDER1_API_KEY: PROVIDER_KEY,
            PROVIDER1_MODEL: MODEL,
            SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
            UPSTREAM_RETRIES: "0",
            JOB_RETRY_FOR: "0",
          },
          fake,
        )
        const errors: Array<string> = []
        const agent = yield* call(gateway, "POST", "/api/v1/agents", {
          token,
          body: { name: NAME, instructions: INSTRUCTIONS, metadata: { note: METADATA } },
        })
        const path = `/api/v1/agents/${agent.json["id"]}/execute`
        const statuses: Array<unknown> = []
        const own = { value: TENANT_KEY, provider: "provider1" }
        yield* call(gateway, "PUT", "/api/v1/secrets/own", { token: owner, body: own })
        for (const [index, reply] of replies.entries()) {
          fake.clear()
          fake.always(reply)
          for (const mode of ["adversarial", "verified"]) {
            const { json: job } = yield* call(gateway, "POST", path, {
              token,
              body: { task: TASK, mode },
              headers: { "idempotency-key": `${IDEMPOTENCY_KEY}-${index}-${mode}` },
            })
            const done = yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}?wait=30`, { token })
            yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}/events`, { token })
            statuses.push(done.json["status"])
          }
          for (const stream of [false, true]) {
            const body = { model: MODEL, stream, messages: [{ role: "user", content: TASK }] }
            for (const caller of [token, owner]) {
              const called = yield* call(gateway, "POST", "/v1/chat/completions", { token: caller, body })
              statuses.push(called.status)
              if (called.status >= 400) assert.notInclude(called.text, TENANT_KEY)
            }
          }
        }
        for (const [method, target, body] of [
          ["POST", "/api/v1/agents", { [MALFORMED]: MALFORMED, name: [MALFORMED] }],
          ["POST", "/api/v1/agents", `{"name": ${MALFORMED}`],
          ["POST", path, { task: { text: MALFORMED }, mode: MALFORMED }],
          ["GET", `/api/v1/agents?cursor=${CURSOR}&limit=${MALFORMED}`, undefined],
          ["GET", `/api/v1/jobs?cursor=${CURSOR}`, undefined],
          ["GET", `/api/v1/routing/stats?from=${MALFORMED}`, undefined],
          ["POST", "/v1/chat/completions", `{"model": ${MALFORMED}`],
        ] as const) {
          const answer = yield* call(gateway, method, target, { token, body })
          assert.strictEqual(answer.status, 400)
          errors.push(answer.text)
        }
        for (const bad of [forged, `${token}canary`, "canary-token"]) {
          errors.push((yield* call(gateway, "GET", "/api/v1/agents", { token: bad })).text)
        }
        const { text: metrics } = yield* callOperator(gateway, "/metrics")
        yield* gateway.stop
        return { statuses, errors, metrics }
      })

      const { lines, logs, spans, value } = yield* observed(session)
      // All of this was seen to happen, so that finding nothing means something.
      assert.includeMembers(value.statuses, ["completed", "failed", 200, 400, 422, 502])
      assert.isAbove(fake.requests.length, 0)
      assert.isAbove(lines.length, 20)
      for (const name of [
        "POST /api/v1/agents/:id/execute",
        "job.step",
        "Jobs.enqueue",
        "Router.answer",
        "Router.stream",
      ]) {
        assert.isTrue(
          spans.some((span) => span.includes(name)),
          `no span ${name}`,
        )
      }
      assert.include(value.metrics, "sealgate_jobs_ended_total")
      for (const canary of [...CANARIES, token, forged, "canary-token"]) {
        assert.notInclude(logs, canary, "logs")
        assert.notInclude(value.metrics, canary, "metrics")
        for (const span of spans) assert.notInclude(span, canary, "spans")
      }
      for (const error of value.errors) {
        for (const canary of [token, forged, "canary-token", SECRET, PROVIDER_KEY, TASK, ANSWER]) {
          assert.notInclude(error, canary, "errors")
        }
      }
    }),
  )
})
