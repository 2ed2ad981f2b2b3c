/** A gateway whose models are behind a sealed proxy: what passes between them, and what is kept of it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted, Schema } from "effect"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { JobReceipt } from "../../src/domain/jobs/job.ts"
import { FLOOR } from "../../src/domain/protocol/padding.ts"
import { TAG_BYTES } from "../../src/domain/protocol/transcript.ts"
import { newCallerKey } from "../../src/services/access/CallerKeys.ts"
import { run } from "../support/cli.ts"
import { type Fake, fault } from "../support/FakeUpstream.ts"
import { call, databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

const decodeReceipts = Schema.decodeUnknownSync(Schema.Struct({ items: Schema.Array(JobReceipt) }))

const PROMPT = "canary-prompt-5821"
const ANSWER = "canary-answer-5822"

type Environment = Readonly<Record<string, string>>

const setup = Effect.fnUntraced(function* (
  environment: Environment | ((fake: Fake, proxyUrl: string) => Environment) = {},
  ofProxy: Parameters<typeof sealedSetup>[0] = {},
) {
  const alice = newCallerKey("alice")
  const folder = yield* temporaryFolder
  const callerKeysFile = join(folder, "callers")
  writeFileSync(callerKeysFile, alice.line)
  const sealed = yield* sealedSetup({ callerKeysFile, ...ofProxy })
  const logs: Array<string> = []
  const gateway = yield* startGateway(
    yield* databaseUrl({ kind: "sqlite" }),
    {
      PROVIDER1_SEALED_PIN: sealed.proxy.kid,
      PROVIDER1_BASE_URL: sealed.wire.url,
      PROVIDER1_API_KEY: Redacted.value(alice.key),
      PROVIDER1_MODEL: "model-1",
      UPSTREAM_RETRIES: "0",
      JOB_RETRY_FOR: "0",
      ...(typeof environment === "function" ? environment(sealed.fake, sealed.wire.url) : environment),
    },
    "configured",
  ).pipe(Effect.provide(Logger.layer([Logger.make((entry) => void logs.push(Logger.formatJson.log(entry)))])))
  const token = yield* tokenFor("alice")
  const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
  /** The job of a task, once it has ended. */
  const work = Effect.fnUntraced(function* (headers: Environment = {}) {
    const { json: made } = yield* call(gateway, "POST", `/api/v1/agents/${agent["id"]}/execute`, {
      token,
      headers,
      body: { task: PROMPT, mode: "verified" },
    })
    return (yield* call(gateway, "GET", `/api/v1/jobs/${made["id"]}?wait=30`, { token })).json
  })
  return { ...sealed, gateway, token, work, logs, folder }
})

describe("a gateway before a sealed proxy", () => {
  it.live("whose base URL ends in /v1 fails its job at once, and the log names the fix", () =>
    Effect.gen(function* () {
      const { logs, work } = yield* setup((_, proxyUrl) => ({
        PROVIDER1_BASE_URL: `${proxyUrl}/v1`,
        JOB_RETRY_FOR: "1h",
      }))
      const job = yield* work()
      assert.strictEqual(job["status"], "failed")
      assert.deepInclude(job["problem"], { code: "upstream-misconfigured", retryable: false })
      const lines = logs.filter((line) => line.includes("Provider call failed") && line.includes("WARN"))
      assert.lengthOf(lines, 1)
      for (const said of ["127.0.0.1:", "if its base URL ends in /v1, remove that", "check PROVIDER1_BASE_URL"]) {
        assert.include(lines[0], said)
      }
    }),
  )

  it.live("seals its calls, and keeps receipts that anybody with the pin can verify", () =>
    Effect.gen(function* () {
      const { fake, folder, gateway, proxy, token, wire, work } = yield* setup()
      fake.always({ text: ANSWER, usage: { input: 9, output: 2 } })
      const job = yield* work()
      assert.strictEqual(job["status"], "completed")
      assert.include(JSON.stringify(fake.requests.map(({ asked }) => asked)), PROMPT)
      assert.notInclude(wire.seen(), PROMPT)
      assert.notInclude(wire.seen(), ANSWER)
      // Observers cannot count the tokens of a job's answer: frames follow the clock and have one size.
      const frames = [...wire.seen().matchAll(/"seq":\d+,"ciphertext":"([\w-]+)"/g)].map(
        ([, frame = ""]) => frame.length,
      )
      assert.isAtLeast(frames.length, fake.requests.length)
      assert.deepStrictEqual(new Set(frames), new Set([Math.ceil(((FLOOR + TAG_BYTES) * 4) / 3)]))
      assert.deepInclude(Object(job["usage"]), { input_tokens: 9 * fake.requests.length })

      const path = `/api/v1/jobs/${String(job["id"])}/receipts`
      const answer = yield* call(gateway, "GET", path, { token })
      const { items } = decodeReceipts(answer.json)
      assert.deepStrictEqual(
        items.map(({ step }) => step),
        (job["steps"] as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name),
      )
      assert.lengthOf(items, fake.requests.length)
      for (const item of items) {
        const file = join(folder, `${item.step}.json`)
        writeFileSync(file, JSON.stringify(item))
        const { code, stdout } = yield* run(verifyCommand, [file, "--pin", proxy.kid])
        assert.strictEqual(code, 0, stdout)
        assert.include(stdout, "model-1")
        assert.strictEqual((yield* run(verifyCommand, [file, "--pin", "A".repeat(43)])).code, 1)
      }
      assert.notInclude(answer.text, ANSWER)
      const other = yield* tokenFor("bob")
      assert.strictEqual((yield* call(gateway, "GET", path, { token: other })).status, 404)
    }),
  )

  it.live("sends the trace id under the seal, unless configured not to", () =>
    Effect.gen(function* () {
      const trace = "0af7651916cd43dd8448eb211c80319c"
      const traceparent = `00-${trace}-b7ad6b7169203331-01`
      for (const [flag, told] of [
        ["on", traceparent],
        ["off", undefined],
      ] as const) {
        const { fake, wire, work } = yield* setup({ UPSTREAM_TRACE_HEADERS: flag }, { traceHeaders: true })
        fake.always({ text: ANSWER })
        yield* work({ traceparent })
        assert.isAbove(fake.requests.length, 0)
        for (const { headers } of fake.requests) assert.strictEqual(headers["traceparent"], told)
        assert.notInclude(wire.seen(), trace)
      }
    }),
  )

  it.live("reports a provider's 401 as unavailable, its 400 as invalid-request", () =>
    Effect.gen(function* () {
      const { fake, work } = yield* setup()
      fake.always(fault.status(401))
      assert.deepInclude(Object((yield* work())["problem"]), { code: "upstream-unavailable" })
      fake.always(fault.status(400, { body: "no" }))
      assert.deepInclude(Object((yield* work())["problem"]), { code: "invalid-request" })
    }),
  )

  it.live("reports a proxy that refuses its key, and sends nothing to a proxy with another pin", () =>
    Effect.gen(function* () {
      const stranger = yield* setup({ PROVIDER1_API_KEY: "sg_unknown" })
      assert.deepInclude(Object((yield* stranger.work())["problem"]), { code: "upstream-unauthorized" })
      assert.strictEqual(stranger.fake.requests.length, 0)

      const misled = yield* setup({ PROVIDER1_SEALED_PIN: "A".repeat(43) })
      assert.deepInclude(Object((yield* misled.work())["problem"]), { code: "upstream-unavailable" })
      assert.strictEqual(misled.fake.requests.length, 0)
      assert.isTrue(misled.logs.some((line) => line.includes("PinMismatch") && line.includes(misled.proxy.kid)))
      for (const { logs } of [stranger, misled]) assert.notInclude(logs.join(), PROMPT)
    }),
  )

  it.live("keeps no receipt of steps that no sealed proxy served", () =>
    Effect.gen(function* () {
      const { fake, gateway, token, work } = yield* setup(({ openAi }) => ({
        PROVIDER2_API_KEY: "key",
        PROVIDER2_BASE_URL: openAi,
        PROVIDER2_MODEL: "plain",
      }))
      fake.always({ text: ANSWER })
      const job = yield* work()
      const steps = job["steps"] as ReadonlyArray<{ readonly name: string; readonly provider: string }>
      const providers = new Set(steps.map(({ provider }) => provider))
      assert.deepStrictEqual([...providers].sort(), ["provider1", "provider2"])
      const { json } = yield* call(gateway, "GET", `/api/v1/jobs/${String(job["id"])}/receipts`, { token })
      assert.deepStrictEqual(
        decodeReceipts(json).items.map(({ step }) => step),
        steps.filter(({ provider }) => provider === "provider1").map(({ name }) => name),
      )
    }),
  )
})
