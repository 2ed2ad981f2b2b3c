/** Tokens, secrets, tasks and answers stay out of the gateway's logs, spans and metrics, and out of others' errors. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { overhear } from "../support/canary.ts"
import { sqlite } from "../support/databases.ts"
import { FakeUpstream, fault, type Reply } from "../support/FakeUpstream.ts"
import { call, callOperator, databaseUrl, SECRET, startGateway, tokenFor } from "../support/gateway.ts"

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

      const heard = overhear()
      const value = yield* session.pipe(
        Effect.provideService(Metric.MetricRegistry, new Map()),
        Effect.provide(heard.services),
      )
      const said = heard.text()
      // All of this was seen to happen, so that finding nothing means something.
      assert.includeMembers(value.statuses, ["completed", "failed", 200, 400, 422, 502])
      assert.isAbove(fake.requests.length, 0)
      assert.isAbove(heard.lines.length, 20)
      for (const name of [
        "POST /api/v1/agents/:id/execute",
        "job.step",
        "Jobs.enqueue",
        "Router.answer",
        "Router.stream",
      ]) {
        assert.isTrue(
          heard.spans.some((span) => span.name.includes(name)),
          `no span ${name}`,
        )
      }
      assert.include(value.metrics, "sealgate_jobs_ended_total")
      for (const canary of [...CANARIES, token, forged, "canary-token"]) {
        assert.notInclude(said, canary, "logs and spans")
        assert.notInclude(value.metrics, canary, "metrics")
      }
      for (const error of value.errors) {
        for (const canary of [token, forged, "canary-token", SECRET, PROVIDER_KEY, TASK, ANSWER]) {
          assert.notInclude(error, canary, "errors")
        }
      }
    }),
  )
})
