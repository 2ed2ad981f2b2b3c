/** The gateway as an MCP server, called by the official SDK's client. */
import { assert, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect } from "effect"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, type TestGateway, tokenFor } from "../support/gateway.ts"
import { failing } from "../support/promises.ts"

type Members = Readonly<Record<string, unknown>>

const connect = (gateway: TestGateway, token: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "test", version: "1" })
      const requestInit = { headers: { authorization: `Bearer ${token}` } }
      const transport = new StreamableHTTPClientTransport(new URL("/mcp", gateway.url), { requestInit })
      // The SDK's own types differ in optional members.
      await client.connect(transport as Parameters<Client["connect"]>[0])
      return client
    }),
    (client) => Effect.promise(() => client.close()),
  )

const use = (client: Client, name: string, input: Members = {}) =>
  Effect.promise(async () => {
    const { content, isError, structuredContent } = await client.callTool({ name, arguments: { ...input } })
    return { isError, text: JSON.stringify(content), value: (structuredContent ?? {}) as Members }
  })

describeDatabases("the gateway as an MCP server", (database) => {
  const setup = Effect.gen(function* () {
    const gateway = yield* startGateway(yield* databaseUrl(database))
    const token = yield* tokenFor("alice")
    const made = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "reviewer", role: "Reviews." } })
    return { gateway, token, agent: String(made.json["id"]) }
  })

  it.live("lists agents, gives one a task, and reads its job", () =>
    Effect.gen(function* () {
      const { agent, gateway, token } = yield* setup
      const client = yield* connect(gateway, token)
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ annotations, name }) => [name, annotations?.readOnlyHint]),
        [
          ["list_agents", true],
          ["run_agent", false],
          ["get_job", true],
        ],
      )
      const listed = yield* use(client, "list_agents")
      assert.deepStrictEqual(listed.value, {
        agents: [{ id: agent, name: "reviewer", default_mode: "adversarial", role: "Reviews." }],
      })
      const task = { agent: "reviewer", task: "Say hello.", mode: "direct", idempotency_key: "k" }
      const ran = yield* use(client, "run_agent", task)
      assert.deepInclude(ran.value, { status: "completed", agent_id: agent, verdict: "unchecked" })
      const again = yield* use(client, "run_agent", { ...task, wait_seconds: 0 })
      assert.deepStrictEqual(again.value, ran.value)
      const read = yield* use(client, "get_job", { job_id: ran.value["job_id"] })
      assert.deepStrictEqual(read.value, ran.value)
    }),
  )

  it.live("shows nothing of other tenants, and nothing that the caller's key does not permit", () =>
    Effect.gen(function* () {
      const { agent, gateway, token } = yield* setup
      const mine = yield* connect(gateway, token)
      const { value: job } = yield* use(mine, "run_agent", { agent, task: "x", mode: "direct" })
      const bob = yield* connect(gateway, yield* tokenFor("bob"))
      assert.deepStrictEqual((yield* use(bob, "list_agents")).value, { agents: [] })
      for (const [name, input] of [
        ["run_agent", { agent, task: "x" }],
        ["get_job", { job_id: job["job_id"] }],
      ] as const) {
        const refused = yield* use(bob, name, input)
        assert.isTrue(refused.isError)
        assert.include(refused.text, "not-found")
      }
      const reader = yield* connect(gateway, yield* tokenFor("eve", { tenant: "alice", roles: ["read"] }))
      assert.strictEqual((yield* use(reader, "get_job", { job_id: job["job_id"] })).value["status"], "completed")
      assert.include((yield* use(reader, "run_agent", { agent, task: "x" })).text, "needs the role")

      const boss = yield* tokenFor("boss", { tenant: "alice", roles: ["admin"] })
      const { json: other } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "other" } })
      const body = { name: "k", roles: ["run"], agents: [other["id"]] }
      const { json: key } = yield* call(gateway, "POST", "/api/v1/keys", { token: boss, body })
      const limited = yield* connect(gateway, String(key["key"]))
      assert.strictEqual(((yield* use(limited, "list_agents")).value["agents"] as Array<unknown>).length, 1)
      assert.isTrue((yield* use(limited, "run_agent", { agent, task: "x" })).isError)
      assert.isTrue((yield* use(limited, "get_job", { job_id: job["job_id"] })).isError)
    }),
  )

  it.live("counts messages against the limit of executions, and refuses callers without a token", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { RATE_LIMIT_EXECUTE: "3" })
      const token = yield* tokenFor("alice")
      const body = { jsonrpc: "2.0", id: 1, method: "ping" }
      assert.strictEqual(problemIn(yield* call(gateway, "POST", "/mcp", { body })).status, 401)
      const statuses: Array<number> = []
      for (let i = 0; i < 4; i++) statuses.push((yield* call(gateway, "POST", "/mcp", { token, body })).status)
      assert.include(statuses, 200)
      assert.strictEqual(statuses.at(-1), 429)
    }),
  )

  it.live("answers odd messages with errors of the protocol", () =>
    Effect.gen(function* () {
      const { gateway, token } = yield* setup
      const client = yield* connect(gateway, token)
      const attempt = (name: string, input: Members) =>
        Effect.map(failing(client.callTool({ name, arguments: { ...input } })), String)
      assert.include(yield* attempt("nothing", {}), "There is no such tool")
      for (const [name, input, path] of [
        ["run_agent", { agent: "reviewer", task: "x", effort: "huge" }, "arguments.effort"],
        ["run_agent", { agent: "", task: "x" }, "arguments.agent"],
        ["get_job", { job_id: "x", more: 1 }, "arguments.more"],
        ["get_job", {}, "arguments.job_id"],
      ] as const) {
        const { isError, text } = yield* use(client, name, input)
        assert.isTrue(isError)
        assert.include(text, path)
      }
      const odd = yield* use(client, "run_agent", { agent: "\u0000", task: "x" })
      assert.include(odd.text, "agent-not-found")
      assert.include((yield* use(client, "get_job", { job_id: "\u0000" })).text, "job-not-found")
      const post = (body: unknown, headers = {}) => call(gateway, "POST", "/mcp", { token, body, headers })
      const errorOf = (method: string, params: object) =>
        Effect.map(post({ jsonrpc: "2.0", id: "a", method, params }), ({ json }) => json["error"])
      assert.deepInclude(yield* errorOf("resources/list", {}), { code: -32601 })
      assert.deepInclude(yield* errorOf("tools/call", { name: "nothing", arguments: {} }), { code: -32602 })
      assert.deepInclude(yield* errorOf("tools/call", { name: "get_job", arguments: "x" }), { code: -32602 })
      assert.strictEqual((yield* post({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 202)
      assert.strictEqual((yield* post([{ jsonrpc: "2.0", id: 1, method: "ping" }])).status, 400)
      assert.strictEqual((yield* post({ jsonrpc: "2.0", id: 1e300, method: "ping" })).status, 400)
      const old = yield* post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-protocol-version": "1999-01-01" })
      assert.strictEqual(old.status, 400)
      assert.strictEqual((yield* call(gateway, "GET", "/mcp", { token })).status, 405)
    }),
  )
})
