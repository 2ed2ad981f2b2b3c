/** Agents with tools, over sockets: a scripted model, a real tool, both databases. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Job } from "../../src/domain/jobs/job.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { toolServer } from "../support/toolServer.ts"

const decodeJob = Schema.decodeUnknownSync(Job)

describeDatabases("an agent with tools", (database) => {
  const setup = Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const gateway = yield* startGateway(
      yield* databaseUrl(database),
      {
        PROVIDER1_BASE_URL: upstream.openAi,
        PROVIDER1_API_KEY: "key",
        PROVIDER1_MODEL: "model-1",
        TOOL_PRIVATE_NETWORKS: "127.0.0.1",
      },
      "configured",
    )
    const token = yield* tokenFor("alice")
    const work = Effect.fnUntraced(function* (agent: object, task: object) {
      const { json: made } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a", ...agent } })
      const { json: job } = yield* call(gateway, "POST", `/api/v1/agents/${made["id"]}/execute`, { token, body: task })
      return decodeJob((yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}?wait=30`, { token })).json)
    })
    return { upstream, gateway, token, work }
  })

  it.live("calls a tool that the model asks for, and shows the call in the trail", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { upstream, work } = yield* setup
        const server = yield* toolServer(
          (_, response) => void response.setHeader("content-type", "application/json").end('{"sum":42}'),
        )
        upstream.script({ toolCalls: [{ name: "add", arguments: { a: 40, b: 2 } }] }, { text: "It is 42." })
        const tools = [
          {
            name: "add",
            description: "Adds.",
            input_schema: { type: "object" },
            url: `${server.url}/add`,
            method: "POST",
          },
        ]
        const job = yield* work({ tools, default_mode: "Direct" }, { task: "What is 40 + 2?" })
        assert.deepInclude(job.result, { mode: "direct", answer: "It is 42.", verdict: "unchecked", tool_calls: 1 })
        assert.deepStrictEqual(
          job.steps.map(({ name }) => name),
          ["turn-1", "tool-1-1", "turn-2"],
        )
        assert.deepInclude(job.steps[1], { kind: "tool", turn: 1, call: 1, provider: null })
        assert.deepStrictEqual(job.steps[1]?.tool, {
          name: "add",
          input: '{"a":40,"b":2}',
          output: '{"sum":42}',
          is_error: false,
        })
        assert.strictEqual(server.requests[0]?.headers["idempotency-key"], `${job.id}/tool-1-1`)
        assert.strictEqual(job.usage.calls, 2)
      }),
    ),
  )

  it.live("has a bound on the calls of a job before it starts", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { upstream, work } = yield* setup
        upstream.always({ text: "42" })
        const tools = [
          { name: "add", description: "Adds.", input_schema: { type: "object" }, url: "https://example.com/" },
        ]
        assert.strictEqual((yield* work({ tools }, { task: "x", mode: "DIRECT" })).at_most?.calls, 15)
        const limited = { tools, limits: { max_turns: 4 } }
        assert.strictEqual(
          (yield* work(limited, { task: "x", mode: "direct", options: { turns: 9 } })).at_most?.calls,
          4,
        )
        assert.strictEqual((yield* work({}, { task: "x", mode: "direct" })).at_most?.calls, 1)
      }),
    ),
  )

  it.live("is refused with every mistake of its tools named", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { gateway, token } = yield* setup
        const tool = {
          name: "add",
          description: "Adds.",
          input_schema: { type: "object" },
          url: "https://example.com/",
        }
        const body = { name: "a", tools: [tool, { ...tool, url: "ftp://example.com/" }] }
        const problem = problemIn(yield* call(gateway, "POST", "/api/v1/agents", { token, body }))
        assert.deepInclude(problem, { status: 400, code: "invalid-request" })
        assert.include(JSON.stringify(problem.errors), "give an https URL")
      }),
    ),
  )
})
