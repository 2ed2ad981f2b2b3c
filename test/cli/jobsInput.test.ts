/** `sealgate jobs input`: a person answers the question of a job. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { GatewayClient } from "../../src/client/gateway.ts"
import { jobsCommand } from "../../src/cli/gateway/jobsCommand.ts"
import { run, sealgate } from "../support/cli.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"

const QUESTION = "May I pay 40 dollars?"
const SCHEMA = { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] }
const ASKS = { toolCalls: [{ name: "ask_person", arguments: { question: QUESTION, answer_schema: SCHEMA } }] }

/** A job that asks, and says "Paid." once it has its answer. */
const askingJob = Effect.gen(function* () {
  const upstream = yield* FakeUpstream.make()
  upstream.script(ASKS, { text: "Paid." })
  const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), {}, upstream)
  const token = yield* tokenFor("alice")
  const client = new GatewayClient({ baseUrl: url, token })
  const job = yield* Effect.promise(async () => {
    const { id } = await client.agents.create({ name: "a", default_mode: "direct", ask_person: {} })
    const job = await client.agents.execute(id, { task: "Pay the bill." })
    for await (const event of job.events()) if (event.type === "input_required") return job
    return job
  })
  const input = (...args: ReadonlyArray<string>) =>
    run(jobsCommand, ["input", job.id, ...args, "--gateway", url]).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { SEALGATE_TOKEN: token } })),
    )
  return { url, token, job, input }
})

describe("sealgate jobs input", () => {
  it.live("sends only an answer that is JSON and fits, and then finds no question", () =>
    Effect.gen(function* () {
      const { input, job } = yield* askingJob
      const unreadable = yield* input("--answer", "yes")
      assert.strictEqual(unreadable.code, 2)
      assert.include(unreadable.stderr, "The answer is not JSON.")
      const unfit = yield* input("--answer", '{"approved":"yes"}')
      assert.strictEqual(unfit.code, 1)
      assert.include(unfit.stderr, "must be boolean")
      const taken = yield* input("--answer", '{"approved":true}')
      assert.strictEqual(taken.code, 0, taken.stderr)
      const { result } = yield* Effect.promise(() => job.wait())
      assert.strictEqual(result?.answer, "Paid.")
      const late = yield* input("--answer", '{"approved":true}')
      assert.strictEqual(late.code, 1)
      assert.include(late.stderr, "The job is not waiting for an answer: it is completed.")
    }),
  )

  it.live("shows the question, reads the answer from standard input, and prints the job for programs", () =>
    Effect.gen(function* () {
      const { job, token, url } = yield* askingJob
      const args = ["jobs", "input", job.id, "--gateway", url, "--json"]
      const taken = yield* sealgate(args, '{"approved":false}', { SEALGATE_TOKEN: token })
      assert.strictEqual(taken.code, 0, taken.stderr)
      assert.include(taken.stderr, `The agent asks: ${QUESTION}`)
      assert.include(taken.stderr, `Schema of the answer: ${JSON.stringify(SCHEMA)}`)
      assert.deepInclude(JSON.parse(taken.stdout), { id: job.id })
      const { steps } = yield* Effect.promise(() => job.wait())
      assert.strictEqual(steps[1]?.tool?.output, '{"approved":false}')
    }),
  )
})
