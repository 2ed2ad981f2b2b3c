/** Agents with tools, over sockets: a scripted model, a real tool, both databases. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { isEnded, Job } from "../../src/domain/jobs/job.ts"
import { until } from "../support/calls.ts"
import { FakeUpstream, fault } from "../support/FakeUpstream.ts"
import { describeDatabases } from "../support/databases.ts"
import { freePort } from "../support/freePort.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { calculator, toolServer } from "../support/toolServer.ts"

const decodeJob = Schema.decodeUnknownSync(Job)

/** A tool that adds, at a URL. */
const adds = (url: string) => ({ name: "add", description: "Adds.", input_schema: { type: "object" }, url })

describeDatabases("an agent with tools", (database) => {
  const setupWith = Effect.fnUntraced(function* (models: 1 | 2) {
    const upstream = yield* FakeUpstream.make()
    const gateway = yield* startGateway(
      yield* databaseUrl(database),
      {
        TOOL_PRIVATE_NETWORKS: "127.0.0.1",
        ...(models === 2 && {
          PROVIDER2_BASE_URL: upstream.openAi,
          PROVIDER2_API_KEY: "key",
          PROVIDER2_MODEL: "model-2",
        }),
      },
      upstream,
    )
    const token = yield* tokenFor("alice")
    const work = Effect.fnUntraced(function* (agent: object, task: object) {
      const { json: made } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a", ...agent } })
      const { json: job } = yield* call(gateway, "POST", `/api/v1/agents/${made["id"]}/execute`, { token, body: task })
      return decodeJob((yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}?wait=30`, { token })).json)
    })
    return { upstream, gateway, token, work }
  })
  const setup = setupWith(1)

  it.live("calls a tool that the model asks for, and shows the call in the trail", () =>
    Effect.gen(function* () {
      const { upstream, work } = yield* setup
      const server = yield* toolServer(
        (_, response) => void response.setHeader("content-type", "application/json").end('{"sum":42}'),
      )
      upstream.script({ toolCalls: [{ name: "add", arguments: { a: 40, b: 2 } }] }, { text: "It is 42." })
      const tools = [{ ...adds(`${server.url}/add`), method: "POST" }]
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
  )

  it.live("returns a model's thoughts beside its calls to that model, and to no other", () =>
    Effect.gen(function* () {
      const { upstream, work } = yield* setupWith(2)
      const { url } = yield* toolServer((_, response) => void response.end("42"))
      const calling = (thoughts?: string) => ({
        ...(thoughts !== undefined && { thoughts }),
        toolCalls: [{ name: "add", arguments: {} }],
      })
      upstream
        .when({ model: "model-1" })
        .script(calling("Adding helps."), calling("Once more."), { text: "It is 42." }, calling("Adding helps."))
      upstream.when({ model: "model-1" }).always(fault.unauthorized())
      upstream.when({ model: "model-2" }).script(calling(), { text: "It is 43." })
      const agent = { tools: [adds(url)], default_mode: "direct" }
      const alone = yield* work(agent, { task: "What is 40 + 2?" })
      assert.deepInclude(alone.result, { answer: "It is 42.", turns: 3, provider: "provider1" })
      assert.notInclude(JSON.stringify(alone), "Adding helps.")
      const taken = yield* work(agent, { task: "What is 40 + 2?" })
      assert.deepInclude(taken.result, { answer: "It is 43.", turns: 3, provider: "provider2" })
      assert.deepStrictEqual(
        upstream.requests.map(({ refused }) => refused),
        upstream.requests.map(() => undefined),
      )
    }),
  )

  it.live("has a bound on the calls of a job before it starts", () =>
    Effect.gen(function* () {
      const { upstream, work } = yield* setup
      upstream.always({ text: "42" })
      const tools = [adds("https://example.com/")]
      assert.strictEqual((yield* work({ tools }, { task: "x", mode: "DIRECT" })).at_most?.calls, 15)
      const limited = { tools, limits: { max_turns: 4 } }
      assert.strictEqual((yield* work(limited, { task: "x", mode: "direct", options: { turns: 9 } })).at_most?.calls, 4)
      assert.strictEqual((yield* work({}, { task: "x", mode: "direct" })).at_most?.calls, 1)
    }),
  )

  it.live("calls the tools of an MCP server, and fails its job for good if the server may not be reached", () =>
    Effect.gen(function* () {
      const { upstream, work } = yield* setup
      const { url } = yield* calculator()
      upstream.script({ toolCalls: [{ name: "calc__multiply", arguments: { a: 6, b: 7 } }] }, { text: "42" })
      const job = yield* work({ mcp_servers: [{ name: "calc", url }] }, { task: "What is 6 × 7?", mode: "direct" })
      assert.deepInclude(job.result, { answer: "42", tool_calls: 1 })
      assert.deepStrictEqual(
        job.steps.map(({ name, tool }) => [name, tool?.output.split("\n")[0]]),
        [
          ["tools-1", "calc__add"],
          ["turn-1", undefined],
          ["tool-1-1", "42"],
          ["turn-2", undefined],
        ],
      )
      const refused = [{ name: "calc", url: "http://10.0.0.1/mcp" }]
      const failed = yield* work({ mcp_servers: refused }, { task: "x", mode: "direct" })
      assert.deepInclude(failed.problem, { code: "tools-unavailable", retryable: false })
      assert.include(failed.problem?.detail, "calc: It was not asked")
    }),
  )

  it.live("retries its job while an MCP server is down, and names the server", () =>
    Effect.gen(function* () {
      const { gateway, token, upstream } = yield* setup
      upstream.always({ text: "42" })
      const port = yield* Effect.promise(freePort)
      const mcp_servers = [{ name: "calc", url: `http://127.0.0.1:${port}` }]
      const body = { name: "a", default_mode: "direct", mcp_servers }
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body })
      const path = `/api/v1/agents/${agent["id"]}/execute`
      const { json: made } = yield* call(gateway, "POST", path, { token, body: { task: "x" } })
      const read = (wait: number) =>
        Effect.map(call(gateway, "GET", `/api/v1/jobs/${made["id"]}?wait=${wait}`, { token }), ({ json }) =>
          decodeJob(json),
        )
      yield* until(Effect.map(read(0), ({ status, waiting }) => isEnded(status) || waiting?.reason === "retry"))
      const waiting = yield* read(0)
      assert.strictEqual(waiting.status, "queued")
      assert.deepInclude(waiting.steps[0]?.problem, { code: "tools-unavailable" })
      assert.match(waiting.steps[0]?.problem?.detail ?? "", /^calc: The MCP server could not be reached/)
      yield* calculator(port)
      assert.deepInclude(yield* read(30), { status: "completed" })
    }),
  )

  it.live("ends at once if the model calls tools in its last turn", () =>
    Effect.gen(function* () {
      const { upstream, work } = yield* setup
      const server = yield* toolServer((_, response) => void response.end("42"))
      upstream.always({ toolCalls: [{ name: "add", arguments: {} }] })
      const tools = [adds(server.url)]
      const job = yield* work({ tools, limits: { max_turns: 2 } }, { task: "x", mode: "direct" })
      assert.deepInclude(job, { status: "failed", attempt: 1 })
      assert.deepInclude(job.problem, { code: "turn-limit-reached", retryable: false })
      assert.strictEqual(server.requests.length, 1)
    }),
  )

  it.live("decides between answers in the verified mode by calculating, and repeats no calculation when resumed", () =>
    Effect.gen(function* () {
      const { gateway, token, upstream, work } = yield* setupWith(2)
      const keys: Array<unknown> = []
      const { url } = yield* calculator(0, ({ key }) => keys.push(key))
      const multiply = { toolCalls: [{ name: "calc__multiply", arguments: { a: 17, b: 23 } }] }
      let judges = false
      upstream.always(({ model, system, text, tools, turns }) => {
        const output = turns.some(({ role }) => role === "tool") ? /\n(\d+)\nEND /.exec(text)?.[1] : undefined
        if (system.includes("You answer a question")) return output === undefined ? multiply : { text: output }
        if (system.includes("Ask questions")) return { text: JSON.stringify({ questions: ["What is 17 × 23?"] }) }
        if (system.includes("You decide which")) {
          const checks = [{ question: 1, fits: [2], note: "391" }]
          return judges ? { text: JSON.stringify({ checks, right: 1 }) } : fault.status(400)
        }
        assert.strictEqual(tools.length, 4)
        // One model does not calculate.
        if (model === "model-1") return { text: "381" }
        return output === undefined ? multiply : { text: output }
      })
      const agent = { mcp_servers: [{ name: "calc", url }], default_mode: "verified" }
      const failed = yield* work(agent, { task: "What is 17 × 23?", options: { samples: 1 } })
      assert.strictEqual(failed.status, "failed")
      const path = `/api/v1/jobs/${failed.id}`
      judges = true
      assert.deepInclude(yield* call(gateway, "POST", `${path}/resume`, { token }), { status: 202 })
      const job = decodeJob((yield* call(gateway, "GET", `${path}?wait=30`, { token })).json)
      assert.deepInclude(job.result, { answer: "391", verdict: "corrected", confidence: null, independent: true })
      assert.deepStrictEqual(job.result?.mode === "verified" ? job.result.checks : [], [
        {
          question: "What is 17 × 23?",
          independent_answer: "391",
          consistent: true,
          note: "391",
          executed: true,
        },
      ])
      assert.deepStrictEqual(
        job.steps.filter(({ status }) => status === "completed").map(({ name }) => name),
        [
          "tools-1",
          "draft-1",
          "sample-1-1",
          "tool-sample-1-1-1",
          "sample-1-2",
          "questions",
          "answer-1-1",
          "tool-answer-1-1-1",
          "answer-1-2",
          "reconcile",
          "reconcile-order-2",
        ],
      )
      assert.deepStrictEqual(keys, [`${job.id}/tool-sample-1-1-1`, `${job.id}/tool-answer-1-1-1`])
      const tool = job.steps.find(({ name }) => name === "tool-sample-1-1-1")
      assert.deepInclude(tool, { kind: "tool", within: "sample", sample: 1, turn: 1, call: 1 })
      const events = yield* call(gateway, "GET", `${path}/events`, { token })
      const begun = /^event: tool_call\ndata: (.*"tool-answer-1-1-1".*)$/m.exec(events.text)?.[1] ?? "{}"
      assert.deepInclude(JSON.parse(begun), {
        kind: "tool",
        within: "answer",
        question: 1,
        turn: 1,
        call: 1,
        tool: "calc__multiply",
        input: '{"a":17,"b":23}',
      })
    }),
  )

  it.live("continues after its finished steps when a failed job is resumed", () =>
    Effect.gen(function* () {
      const { gateway, token, upstream, work } = yield* setup
      const server = yield* toolServer((_, response) => void response.end("3"))
      const tools = [adds(server.url)]
      upstream.script({ toolCalls: [{ name: "add", arguments: {} }] }, fault.status(400))
      const failed = yield* work({ tools }, { task: "x", mode: "direct" })
      assert.strictEqual(failed.status, "failed")
      const seen = failed.steps.length + 1
      upstream.script({ text: "three" })
      const path = `/api/v1/jobs/${failed.id}`
      const resumed = yield* call(gateway, "POST", `${path}/resume`, { token })
      assert.deepInclude(resumed, { status: 202 })
      assert.deepInclude(resumed.json, { attempt: 2 })
      const job = decodeJob((yield* call(gateway, "GET", `${path}?wait=30`, { token })).json)
      assert.deepInclude(job.result, { answer: "three", turns: 2, tool_calls: 1 })
      assert.notProperty(job, "problem")
      assert.strictEqual(server.requests.length, 1)
      // A follower that saw the failure gets only later events.
      const events = yield* call(gateway, "GET", `${path}/events`, { token, headers: { "last-event-id": `${seen}` } })
      assert.deepStrictEqual(
        [...events.text.matchAll(/^event: (step|ended)$/gm)].map(([, name]) => name),
        ["step", "ended"],
      )
      const again = problemIn(yield* call(gateway, "POST", `${path}/resume`, { token }))
      assert.deepInclude(again, { status: 409, code: "job-not-resumable" })
      const other = problemIn(yield* call(gateway, "POST", `${path}/resume`, { token: yield* tokenFor("bob") }))
      assert.deepInclude(other, { status: 404, code: "job-not-found" })
    }),
  )

  it.live("is refused with every mistake of its tools named", () =>
    Effect.gen(function* () {
      const { gateway, token } = yield* setup
      const tool = adds("https://example.com/")
      const body = {
        name: "a",
        tools: [
          { ...tool, name: "no name" },
          { ...tool, url: "ftp://example.com/" },
        ],
      }
      const problem = problemIn(yield* call(gateway, "POST", "/api/v1/agents", { token, body }))
      assert.deepInclude(problem, { status: 400, code: "invalid-request" })
      const errors = JSON.stringify(problem.errors)
      assert.include(errors, "letters, digits, underscores or hyphens")
      assert.include(errors, "give an https URL")
    }),
  )
})
