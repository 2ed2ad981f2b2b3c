/** The log explains why a request or a job failed, and what a shutdown waits for. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SealedProblem } from "../../src/client/errors.ts"
import { type Fake, fault, FakeUpstream } from "../support/FakeUpstream.ts"
import { call, tokenFor } from "../support/gateway.ts"
import { type Running, runProxy } from "../support/processes.ts"
import { runGateway } from "../support/gatewayProcess.ts"
import { failing, failureOf } from "../support/promises.ts"

const Line = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.Unknown,
    level: Schema.String,
    annotations: Schema.Record(Schema.String, Schema.Unknown),
  }),
)
const decodeLine = Schema.decodeUnknownSync(Line)

/** Waits for log lines whose message begins with a text. */
const linesOf = ({ line, stdout }: Pick<Running, "line" | "stdout">, message: string) =>
  Effect.promise(async () => {
    await line((text) => (text.includes(`"message":"${message}`) ? text : undefined))
    return stdout
      .map((text) => decodeLine(text))
      .filter((line) => String(line.message).startsWith(message))
      .map(({ annotations, level, message }): Readonly<Record<string, unknown>> => ({ level, message, ...annotations }))
  })

const PROMPT = "canary-prompt-9911"
const vendor = (upstream: Fake) => ({
  PROVIDER1_API_KEY: "key",
  PROVIDER1_BASE_URL: upstream.openAi,
  PROVIDER1_MODEL: "model-1",
  UPSTREAM_RETRIES: "1",
  UPSTREAM_RETRY_BASE: "1ms",
})

const UNSERVED = "no provider served a request"

describe("the log of a proxy", () => {
  for (const form of ["complete", "stream"] as const) {
    it.live(`reports a failed request (${form}) in one line, under the trace in its problem`, () =>
      Effect.gen(function* () {
        const upstream = yield* FakeUpstream.make()
        const proxy = yield* runProxy({ env: vendor(upstream) })
        for (let calls = 0; calls < 2; calls++) upstream.script(fault.status(500, { body: { error: PROMPT } }))
        const client = proxy.client()
        const failed = yield* failing(
          form === "complete"
            ? client.complete({ prompt: PROMPT })
            : client.stream({ prompt: PROMPT }).then((stream) => stream.text()),
        )
        const traceId = failed instanceof SealedProblem ? failed.problem.trace_id : undefined
        assert.match(traceId ?? "", /^[0-9a-f]{32}$/)
        assert.deepStrictEqual(yield* linesOf(proxy, UNSERVED), [
          {
            level: "WARN",
            message: UNSERVED,
            code: "upstream-unavailable",
            provider: "provider1",
            calls: 2,
            why: "provider1 model-1: unavailable ×2",
            trace_id: traceId,
          },
        ])
        assert.notInclude(proxy.stdout.join("\n"), PROMPT)
      }),
    )
  }
})

const startGateway = Effect.fnUntraced(function* (upstream: Fake, more: Readonly<Record<string, string>> = {}) {
  const { url, ...running } = yield* runGateway({ env: { ...vendor(upstream), ...more } })
  const token = yield* tokenFor("alice")
  const { json: agent } = yield* call({ url }, "POST", "/api/v1/agents", { token, body: { name: "a" } })
  const execute = call({ url }, "POST", `/api/v1/agents/${String(agent["id"])}/execute`, {
    token,
    body: { task: PROMPT },
  })
  return { ...running, execute, get: (path: string) => call({ url }, "GET", path, { token }) }
})

describe("the log of a gateway", () => {
  it.live("says why a job failed, under the trace in its problem", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      upstream.script(fault.status(401, { body: { error: PROMPT } }))
      const gateway = yield* startGateway(upstream)
      const { json: made } = yield* gateway.execute
      const { json: job } = yield* gateway.get(`/api/v1/jobs/${String(made["id"])}?wait=30`)
      const trace_id = made["trace_id"]
      assert.deepInclude(job, { status: "failed", trace_id })
      assert.deepInclude(job["problem"], { code: "upstream-unauthorized", trace_id })
      const [unserved, ...others] = yield* linesOf(gateway, UNSERVED)
      assert.deepInclude(unserved, {
        trace_id,
        job: made["id"],
        code: "upstream-unauthorized",
        why: "provider1 model-1: unauthorized",
      })
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(yield* linesOf(gateway, "an attempt at a job failed"), [
        {
          level: "INFO",
          message: "an attempt at a job failed",
          trace_id,
          job: made["id"],
          attempt: 1,
          code: "upstream-unauthorized",
        },
      ])
      assert.notInclude(gateway.stdout.join("\n"), PROMPT)
    }),
  )
})

describe("the log of a gateway whose provider is down", () => {
  it.live("reports once that attempts fail and once that they succeed again, and each step names its attempt", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      for (let i = 0; i < 4; i++) upstream.script(fault.overloaded())
      upstream.always({ text: "An answer." })
      const gateway = yield* startGateway(upstream)
      const { json: made } = yield* gateway.execute
      const { json: job } = yield* gateway.get(`/api/v1/jobs/${String(made["id"])}?wait=30`)
      assert.deepInclude(job, { status: "completed", attempt: 3 })
      const [again, ...more] = yield* linesOf(gateway, "attempts at jobs succeed again")
      assert.deepInclude(again, { level: "INFO", code: "upstream-unavailable", failed: 2 })
      assert.deepStrictEqual(more, [])
      const failed = yield* linesOf(gateway, "an attempt at a job failed")
      assert.deepStrictEqual(
        failed.map(({ attempt, code, level }) => [level, attempt, code]),
        [["INFO", 1, "upstream-unavailable"]],
      )
      const steps = (job["steps"] as ReadonlyArray<{ readonly status: string }>).filter(
        ({ status }) => status === "failed",
      )
      assert.strictEqual(steps.length, 2)
    }),
  )
})

describe("a shutdown", () => {
  it.live("logs the work that it waits for, and the work that it interrupts", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      const proxy = yield* runProxy({ env: { ...vendor(upstream), SHUTDOWN_GRACE: "300ms" } })
      upstream.script({ text: "one two three", delivery: { breaks: { after: 1, how: "silence" } } })
      upstream.script({ text: "never", delivery: { headersAfter: 600_000 } })
      yield* Effect.promise(async () => {
        const client = proxy.client()
        const stream = await client.stream({ prompt: "x" })
        await stream[Symbol.asyncIterator]().next()
        const waiting = failureOf(client.complete({ prompt: "x" }))
        await upstream.received(2)
        proxy.kill("SIGTERM")
        await waiting
        await proxy.exit
      })
      const [begins] = yield* linesOf(proxy, "shutting down")
      assert.deepInclude(begins, {
        level: "INFO",
        message: "shutting down; waiting up to 300ms for what is in flight",
        requests: 1,
        streams: 1,
        jobs: 0,
      })
      assert.isAbove(Number(begins?.["longest_ms"]), 0)
      const [ends] = yield* linesOf(proxy, "breaking off")
      assert.deepInclude(ends, { level: "WARN", requests: 1, streams: 1, jobs: 0 })
      assert.isAtLeast(Number(ends?.["longest_ms"]), 300)
    }),
  )

  it.live("counts the jobs that it waits for, and logs their end", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
      upstream.script(async () => {
        await goOn
        return { text: "answer" }
      })
      yield* Effect.addFinalizer(() => Effect.sync(finish))
      const gateway = yield* startGateway(upstream)
      yield* gateway.execute
      yield* Effect.promise(async () => {
        await upstream.received(1)
        gateway.kill("SIGTERM")
      })
      const [begins] = yield* linesOf(gateway, "shutting down")
      assert.deepInclude(begins, { streams: 0, jobs: 1 })
      finish()
      yield* Effect.promise(() => gateway.exit)
      assert.strictEqual((yield* linesOf(gateway, "everything in flight has ended")).length, 1)
    }),
  )
})
