/** Keys of the gateway over HTTP: roles, limits, revocation in another process, and the audit trail. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"
import { describeDatabases } from "../support/databases.ts"
import {
  type Answer,
  call,
  databaseUrl,
  hasArrived,
  problemIn,
  startGateway,
  type TestGateway,
  tokenFor,
} from "../support/gateway.ts"
import { openSocket } from "../support/sockets.ts"

type Members = Readonly<Record<string, unknown>>

const idOf = ({ json }: Answer): string => String(json["id"])

/** Makes a key with an administrator's token, and returns its secret. */
const makeKey = Effect.fnUntraced(function* (gateway: TestGateway, members: Members, tenant = "acme") {
  const token = yield* tokenFor("boss", { tenant, roles: ["admin"] })
  const made = yield* call(gateway, "POST", "/api/v1/keys", { token, body: { name: "k", roles: ["run"], ...members } })
  assert.strictEqual(made.status, 201, made.text)
  return { id: idOf(made), key: String(made.json["key"]) }
})

const makeAgent = Effect.fnUntraced(function* (gateway: TestGateway, tenant = "acme") {
  const token = yield* tokenFor("boss", { tenant, roles: ["manage"] })
  return idOf(yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "reviewer" } }))
})

const execute = (gateway: TestGateway, agent: string, token: string, task = "x") =>
  call(gateway, "POST", `/api/v1/agents/${agent}/execute`, { token, body: { task } })

/** The job of a task, once it has ended. */
const runTask = Effect.fnUntraced(function* (gateway: TestGateway, agent: string, token: string) {
  const queued = yield* execute(gateway, agent, token)
  return yield* call(gateway, "GET", `/api/v1/jobs/${idOf(queued)}?wait=30`, { token })
})

const ROLES = ["read", "run", "manage", "admin"] as const

/** A stream, which GatewayChanges.test.ts covers. */
const ENDLESS = "GET /api/v1/changes"

const PLAN = { cron: "0 7 * * *", request: { task: "x" } }

const MISSING = "01890a5d-ac96-774b-bcce-b302099a8057"
const UUID = /[\da-f]{8}-[\da-f-]{27}/

const HI = [{ role: "user", content: "Hi" }]

/**
 * Requests, and the least role that each needs. `:agent`, `:job`, `:thread`, `:schedule` and `:key` stand for ids, `:config` for the routing that is
 * in force. A status is that for roles that may ask, if it is none of success: the job did not fail, the echo embeds nothing,
 * the operator set no key for secrets.
 */
const REQUESTS: ReadonlyArray<readonly [role: string, method: string, path: string, body?: unknown, status?: number]> =
  [
    ["read", "GET", "/api/v1/agents"],
    ["read", "GET", "/api/v1/agents/:agent"],
    ["read", "GET", "/api/v1/jobs"],
    ["read", "GET", "/api/v1/jobs/summary"],
    ["read", "GET", "/api/v1/jobs/:job"],
    ["read", "GET", "/api/v1/jobs/:job/events"],
    ["read", "GET", "/api/v1/jobs/:job/receipts"],
    ["read", "GET", "/api/v1/jobs/:job/deliveries"],
    ["read", "GET", "/api/v1/threads"],
    ["read", "GET", "/api/v1/threads/:thread"],
    ["read", "GET", "/api/v1/schedules"],
    ["read", "GET", "/api/v1/schedules/:schedule"],
    ["read", "GET", "/api/v1/routing/stats"],
    ["read", "GET", "/api/v1/routing/providers"],
    ["read", "GET", "/api/v1/budgets"],
    ["read", "GET", "/api/v1/budgets?agent=:agent"],
    ["read", "POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "ping" }],
    ["read", "GET", "/a2a/:agent/.well-known/agent-card.json"],
    ["read", "POST", "/a2a/:agent", { jsonrpc: "2.0", id: 1, method: "ListTasks" }],
    ["read", "GET", "/v1/models"],
    ["read", "GET", "/v1/models/echo-1"],
    ["read", "GET", "/v1/models/echo/echo-1"],
    ["run", "POST", "/api/v1/agents/:agent/execute", { task: "hi" }],
    ["manage", "POST", "/api/v1/agents/:agent/execute", { task: "hi", priority: "high" }],
    ["run", "POST", "/api/v1/agents/:agent/execute", { task: "hi", priority: "low" }],
    ["run", "POST", "/api/v1/jobs/:job/cancel"],
    // Not of this key.
    ["manage", "POST", "/api/v1/jobs/:job/resume", undefined, 409],
    ["run", "POST", "/api/v1/jobs/:job/input", { answer: {} }, 409],
    ["run", "POST", "/api/v1/threads", { agent_id: ":agent" }],
    ["run", "POST", "/v1/chat/completions", { model: "echo-1", messages: HI }],
    ["run", "POST", "/v1/responses", { model: "echo-1", input: "Hi" }],
    ["run", "POST", "/v1/messages", { model: "echo-1", max_tokens: 9, messages: HI }],
    ["run", "POST", "/v1/messages/count_tokens", { model: "echo-1", messages: HI }],
    ["run", "POST", "/v1/embeddings", { model: "echo-1", input: "Hi" }, 400],
    ["manage", "DELETE", "/api/v1/jobs/:job"],
    ["manage", "DELETE", "/api/v1/threads/:thread"],
    ["manage", "POST", "/api/v1/schedules", { agent_id: ":agent", ...PLAN }],
    ["manage", "DELETE", "/api/v1/schedules/:schedule"],
    ["manage", "POST", "/api/v1/agents", { name: "another" }],
    ["manage", "PATCH", "/api/v1/agents/:agent", { name: "renamed" }],
    ["manage", "DELETE", "/api/v1/agents/:agent"],
    ["manage", "GET", "/api/v1/ledger"],
    ["admin", "GET", "/api/v1/ledger?scope=all"],
    ["manage", "GET", "/api/v1/routing/spend?by=key"],
    ["manage", "GET", "/api/v1/keys"],
    ["manage", "GET", "/api/v1/budgets?key=:key"],
    ["manage", "POST", "/api/v1/webhooks/secret"],
    ["manage", "GET", "/api/v1/secrets"],
    ["manage", "PUT", "/api/v1/secrets/s", { value: "token-of-tool", origin: "https://example.com" }, 409],
    ["manage", "DELETE", "/api/v1/secrets/s", undefined, 404],
    ["manage", "POST", "/api/v1/keys", { name: "k", roles: ["read"] }],
    ["manage", "GET", "/api/v1/keys/:key"],
    ["manage", "PATCH", "/api/v1/keys/:key", { name: "renamed" }],
    ["manage", "DELETE", "/api/v1/keys/:key"],
    ["admin", "POST", "/api/v1/keys", { name: "k", roles: ["admin"] }],
    ["admin", "PUT", "/api/v1/budgets", { budgets: [] }],
    ["admin", "GET", "/api/v1/routing/config"],
    ["admin", "PUT", "/api/v1/routing/config", ":config"],
    ["admin", "GET", "/api/v1/routing/stats?scope=all"],
    ["admin", "GET", "/api/v1/routing/providers?scope=all"],
    ["admin", "GET", "/api/v1/audit"],
  ]

/** The operations of the API's description that need a key, such as `GET /api/v1/agents/{id}`. */
const operationsOf = Effect.fnUntraced(function* (gateway: TestGateway) {
  const { json } = yield* call(gateway, "GET", "/openapi.json")
  // OpenAPI defines this shape.
  const paths = json["paths"] as Readonly<Record<string, Readonly<Record<string, { readonly security?: unknown }>>>>
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security = [] }]) =>
      Array.isArray(security) && security.length > 0 ? [`${method.toUpperCase()} ${path}`] : [],
    ),
  )
})

const VARIABLE = new RegExp(`:(agent|job|key|thread|schedule)|(?<=models/).+|${UUID.source}`)
/** The operation of a request above. */
const operationOf = (method: string, path: string): string =>
  `${method} ${(path.split("?")[0] ?? "").replace(/(?<=secrets\/)s$/, "{name}").replace(VARIABLE, "{id}")}`

/** Fails if the API has operations that are not among these. */
const coversAll = (operations: ReadonlyArray<string>, tested: ReadonlyArray<string>) =>
  assert.deepStrictEqual(
    operations.filter((operation) => !tested.includes(operation)),
    [],
  )

describeDatabases("keys of the gateway", (database) => {
  it.effect("give each role its own rights and those below it, and no others", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      coversAll(
        (yield* operationsOf(gateway)).filter((operation) => operation !== ENDLESS),
        REQUESTS.map(([, method, path]) => operationOf(method, path)),
      )
      const boss = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
      const config = yield* call(gateway, "GET", "/api/v1/routing/config", { token: boss })
      const { effective_prices: _, version: __, ...routing } = config.json
      for (const role of ROLES) {
        const { key } = yield* makeKey(gateway, { roles: [role] })
        for (const [needed, method, path, given, status] of REQUESTS) {
          const template = `${path} ${JSON.stringify(given)}`
          const made = (name: string, make: () => Effect.Effect<string>) =>
            template.includes(`:${name}`) ? make() : Effect.succeed("")
          const post = (path: string, body?: object) => call(gateway, "POST", `/api/v1${path}`, { token: boss, body })
          const agent = yield* makeAgent(gateway)
          // An ended job, whose events end.
          const job = yield* made("job", () =>
            Effect.map(post(`/agents/${agent}/execute`, { task: "x" }), idOf).pipe(
              Effect.tap((id) => post(`/jobs/${id}/cancel`)),
            ),
          )
          const victim = yield* made("key", () => Effect.map(makeKey(gateway, {}), ({ id }) => id))
          const thread = yield* made("thread", () => Effect.map(post("/threads", { agent_id: agent }), idOf))
          // A tenant has at most 100.
          const schedule = yield* made("schedule", () =>
            Effect.map(post("/schedules", { agent_id: agent, ...PLAN }), idOf),
          )
          const ids = { agent, job, thread, schedule, key: victim }
          const withIds = (text: string) =>
            Object.entries(ids).reduce((filled, [name, id]) => filled.replace(`:${name}`, id), text)
          const url = withIds(path)
          const body: unknown = given === ":config" ? routing : given && JSON.parse(withIds(JSON.stringify(given)))
          const answer = yield* call(gateway, method, url, { token: key, body })
          const isAllowed = ROLES.findIndex((each) => each === role) >= ROLES.findIndex((each) => each === needed)
          const what = `${role}: ${method} ${path} gave ${answer.status} ${answer.text}`
          if (!isAllowed) {
            assert.strictEqual(answer.status, 403, what)
            if (path.startsWith("/api/")) assert.strictEqual(problemIn(answer).code, "forbidden")
          } else if (status === undefined) assert.isBelow(answer.status, 300, what)
          else assert.strictEqual(answer.status, status, what)
        }
      }
    }),
  )

  it.effect("answer another tenant's agents, jobs and keys with 404", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const agent = yield* makeAgent(gateway)
      const token = yield* tokenFor("boss", { tenant: "acme" })
      const job = idOf(yield* execute(gateway, agent, token))
      const thread = idOf(yield* call(gateway, "POST", "/api/v1/threads", { token, body: { agent_id: agent } }))
      const plan = { token, body: { agent_id: agent, ...PLAN } }
      const schedule = idOf(yield* call(gateway, "POST", "/api/v1/schedules", plan))
      const theirs = yield* makeKey(gateway, {})
      const { key } = yield* makeKey(gateway, { roles: ["admin"] }, "other")
      const requests = [
        ["GET", `/api/v1/agents/${agent}`],
        ["PATCH", `/api/v1/agents/${agent}`],
        ["DELETE", `/api/v1/agents/${agent}`],
        ["POST", `/api/v1/agents/${agent}/execute`],
        ["GET", `/api/v1/jobs/${job}`],
        ["GET", `/api/v1/jobs/${job}/events`],
        ["GET", `/api/v1/jobs/${job}/receipts`],
        ["GET", `/api/v1/jobs/${job}/deliveries`],
        ["POST", `/api/v1/jobs/${job}/input`],
        ["POST", `/api/v1/jobs/${job}/resume`],
        ["POST", `/api/v1/jobs/${job}/cancel`],
        ["DELETE", `/api/v1/jobs/${job}`],
        ["GET", `/api/v1/threads/${thread}`],
        ["DELETE", `/api/v1/threads/${thread}`],
        ["GET", `/api/v1/schedules/${schedule}`],
        ["DELETE", `/api/v1/schedules/${schedule}`],
        ["GET", `/api/v1/keys/${theirs.id}`],
        ["PATCH", `/api/v1/keys/${theirs.id}`],
        ["DELETE", `/api/v1/keys/${theirs.id}`],
        ["GET", `/api/v1/budgets?key=${theirs.id}`],
        ["GET", `/api/v1/budgets?agent=${agent}`],
        ["POST", "/v1/chat/completions"],
      ] as const
      const ofOneRow = (yield* operationsOf(gateway)).filter((operation) => /^[A-Z]+ \/api\/.*\{id\}/.test(operation))
      coversAll(
        ofOneRow,
        requests.map(([method, path]) => operationOf(method, path)),
      )
      for (const [method, path] of requests) {
        const chat = path.startsWith("/v1/") ? { model: `agent:${agent}`, messages: HI } : undefined
        const body = path.endsWith("execute")
          ? { task: "x" }
          : path.endsWith("input")
            ? { answer: {} }
            : method === "PATCH"
              ? { name: "mine" }
              : chat
        const answerFor = (path: string) =>
          Effect.map(call(gateway, method, path, { token: key, body }), ({ json, status }) => ({
            status,
            // The only members that tell requests apart.
            json: { ...json, instance: "", trace_id: "" },
          }))
        const answer = yield* answerFor(path)
        assert.strictEqual(answer.status, 404, `${method} ${path}`)
        // Rows of another tenant get the same answer as rows that never existed.
        if (chat === undefined) assert.deepStrictEqual(answer, yield* answerFor(path.replace(UUID, MISSING)), path)
      }
    }),
  )

  it.effect("show and run only the agents that the key permits", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const [mine, other] = [yield* makeAgent(gateway), yield* makeAgent(gateway)]
      const token = yield* tokenFor("boss", { tenant: "acme" })
      const run = (agent: string, token: string) => execute(gateway, agent, token)
      const hidden = idOf(yield* run(other, token))
      const { key } = yield* makeKey(gateway, { agents: [mine] })
      assert.strictEqual((yield* run(mine, key)).status, 202)
      assert.strictEqual((yield* run(other, key)).status, 404)
      assert.strictEqual((yield* call(gateway, "GET", `/api/v1/jobs/${hidden}`, { token: key })).status, 404)
      assert.strictEqual((yield* call(gateway, "POST", `/api/v1/jobs/${hidden}/cancel`, { token: key })).status, 404)
      const jobs = yield* call(gateway, "GET", "/api/v1/jobs", { token: key })
      assert.isFalse(jobs.text.includes(hidden))
      const agents = yield* call(gateway, "GET", "/api/v1/agents", { token: key })
      assert.isFalse(agents.text.includes(other))
      for (const path of ["jobs/summary", "routing/stats", "routing/spend?by=agent", "routing/providers"]) {
        const answer = yield* call(gateway, "GET", `/api/v1/${path}`, { token: key })
        assert.strictEqual(problemIn(answer).code, "forbidden", path)
      }
    }),
  )

  it.effect("find nothing of agents that the key does not permit, in pages or in their cursors", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const token = yield* tokenFor("boss", { tenant: "acme" })
      const mine = yield* makeAgent(gateway)
      const { key } = yield* makeKey(gateway, { agents: [mine] })
      const run = (agent: string, task: string) => Effect.map(execute(gateway, agent, token, task), idOf)
      const begin = (agent: string) =>
        Effect.map(call(gateway, "POST", "/api/v1/threads", { token, body: { agent_id: agent } }), idOf)
      const [job, thread] = [yield* run(mine, "x"), yield* begin(mine)]
      const others = yield* Effect.replicateEffect(makeAgent(gateway), 21)
      for (const agent of others.slice(0, 3)) yield* Effect.all([run(agent, "the code is ZEBRA-77"), begin(agent)])
      for (const [path, ids] of [
        ["agents?limit=1", [mine]],
        ["jobs?limit=1", [job]],
        ["threads?limit=1", [thread]],
        ["jobs?limit=1&q=zebra", []],
        [`jobs?limit=1&agent_id=${others[0]}`, []],
      ] as const) {
        const { json } = yield* call(gateway, "GET", `/api/v1/${path}`, { token: key })
        const items = json["items"] as ReadonlyArray<Members>
        assert.deepStrictEqual([items.map(({ id }) => id), json["next_cursor"]], [ids, undefined], path)
      }
      const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_agents" } }
      const { json } = yield* call(gateway, "POST", "/mcp", { token: key, body })
      const { agents, ...rest } = (json["result"] as { structuredContent: Members }).structuredContent
      assert.deepStrictEqual([(agents as ReadonlyArray<Members>).map(({ id }) => id), rest], [[mine], {}])
      // All agents have this name.
      const card = yield* call(gateway, "GET", "/a2a/reviewer/.well-known/agent-card.json", { token: key })
      assert.include(card.text, mine)
    }),
  )

  it.effect("fail jobs whose models the key does not permit", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const agent = yield* makeAgent(gateway)
      const { key } = yield* makeKey(gateway, { models: { deny: ["*"] } })
      const job = yield* runTask(gateway, agent, key)
      assert.strictEqual((job.json["problem"] as Members | undefined)?.["code"], "no-target", job.text)
    }),
  )

  it.effect("end jobs whose budgets have too little left for a call", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const agent = yield* makeAgent(gateway)
      const { key } = yield* makeKey(gateway, { budgets: [{ per: "total", max_tokens: 100 }] })
      const job = yield* runTask(gateway, agent, key)
      assert.deepInclude(job.json["problem"] as Members, { code: "budget-exhausted", status: 402 })
    }),
  )

  it.effect("resume no job of another key, or one that the key may no longer run", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const agent = yield* makeAgent(gateway)
      const token = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
      const failed = Effect.fnUntraced(function* (by: string) {
        const job = yield* runTask(gateway, agent, by)
        assert.strictEqual(job.json["status"], "failed", job.text)
        return idOf(job)
      })
      const resume = (job: string, by: string) => call(gateway, "POST", `/api/v1/jobs/${job}/resume`, { token: by })
      const limits = { models: { deny: ["*"] } }
      const [owner, other] = [yield* makeKey(gateway, limits), yield* makeKey(gateway, limits)]
      const [first, second] = [yield* failed(owner.key), yield* failed(owner.key)]
      assert.strictEqual(problemIn(yield* resume(first, other.key)).code, "forbidden")
      assert.strictEqual(
        problemIn(yield* resume(first, yield* tokenFor("a", { tenant: "acme", roles: ["run"] }))).code,
        "forbidden",
      )
      assert.strictEqual((yield* resume(first, owner.key)).status, 202)
      yield* call(gateway, "GET", `/api/v1/jobs/${first}?wait=30`, { token })
      assert.strictEqual((yield* resume(first, token)).status, 202)
      const change = (method: string, body?: object) =>
        call(gateway, method, `/api/v1/keys/${owner.id}`, { token, ...(body && { body }) })
      yield* change("PATCH", { agents: [yield* makeAgent(gateway)] })
      assert.strictEqual(problemIn(yield* resume(second, token)).code, "job-key-refused")
      yield* change("PATCH", { agents: null })
      yield* change("DELETE")
      assert.strictEqual(problemIn(yield* resume(second, token)).code, "job-key-refused")
    }),
  )

  it.live("hold back their jobs beyond max_running_jobs, and release them when it rises", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const agent = yield* makeAgent(gateway)
      const { id, key } = yield* makeKey(gateway, { max_running_jobs: 1 })
      const boss = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
      const enqueue = execute(gateway, agent, key)
      assert.deepStrictEqual((yield* enqueue).json["waiting"], { reason: "worker" })
      const second = yield* enqueue
      assert.deepStrictEqual(second.json["waiting"], { reason: "key-limit" })
      const change = (body: unknown) => call(gateway, "PATCH", `/api/v1/keys/${id}`, { token: boss, body })
      assert.strictEqual((yield* change({ name: "renamed" })).json["max_running_jobs"], 1)
      const waiting = Effect.map(
        call(gateway, "GET", `/api/v1/jobs/${idOf(second)}`, { token: key }),
        ({ json }) => json["waiting"],
      )
      assert.deepStrictEqual(yield* waiting, { reason: "key-limit" })
      yield* change({ max_running_jobs: 2 })
      assert.deepStrictEqual(yield* waiting, { reason: "worker" })
      assert.deepStrictEqual((yield* enqueue).json["waiting"], { reason: "key-limit" })
      assert.notProperty((yield* change({ max_running_jobs: null })).json, "max_running_jobs")
      assert.deepStrictEqual((yield* enqueue).json["waiting"], { reason: "worker" })
    }),
  )

  it.effect("bind jobs that are given over MCP and A2A", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const agent = yield* makeAgent(gateway)
      const { key: token } = yield* makeKey(gateway, { max_running_jobs: 1 })
      yield* execute(gateway, agent, token)
      const run = { name: "run_agent", arguments: { agent, task: "x", wait_seconds: 0 } }
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] }
      const send = { message, configuration: { returnImmediately: true } }
      for (const [path, method, params] of [
        ["/mcp", "tools/call", run],
        [`/a2a/${agent}`, "SendMessage", send],
      ] as const) {
        const headers = { "a2a-version": "1.0" }
        const given = yield* call(gateway, "POST", path, {
          token,
          headers,
          body: { jsonrpc: "2.0", id: 1, method, params },
        })
        const { json } = yield* call(gateway, "GET", "/api/v1/jobs?limit=1", { token })
        const [job] = json["items"] as ReadonlyArray<Members>
        assert.include(given.text, String(job?.["id"]), path)
        assert.deepStrictEqual(job?.["waiting"], { reason: "key-limit" }, path)
      }
    }),
  )

  it.live("end streams and waits once they are revoked, changed or expired", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const agent = yield* makeAgent(gateway)
      const boss = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
      const kept = yield* makeKey(gateway, {})
      const job = idOf(yield* execute(gateway, agent, boss))
      const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params })
      const follow = ["GET", `/api/v1/jobs/${job}/events`, 200] as const
      const waits: ReadonlyArray<readonly [method: string, path: string, status: number, body?: object]> = [
        follow,
        ["GET", "/api/v1/jobs/:job?wait=60", 401],
        ["POST", `/a2a/${agent}`, 200, rpc("SubscribeToTask", { id: job })],
        [
          "POST",
          `/a2a/${agent}`,
          200,
          rpc("SendMessage", { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } }),
        ],
        ["POST", "/mcp", 200, rpc("tools/call", { name: "get_job", arguments: { job_id: job, wait_seconds: 60 } })],
        ["POST", "/v1/chat/completions", 401, { model: `agent:${agent}`, messages: HI }],
      ]
      const ask = (token: string, [method, path, , body]: (typeof waits)[number]) =>
        call(gateway, method, path.replace(":job", job), {
          token,
          headers: { "a2a-version": "1.0" },
          body,
        })
      const open = yield* Effect.forkScoped(ask(kept.key, follow))
      // A change of its limits ends nothing.
      const limits = { name: "other", max_running_jobs: 5, requests_per_minute: 60 }
      yield* call(gateway, "PATCH", `/api/v1/keys/${kept.id}`, { token: boss, body: limits })
      for (const end of [
        (id: string) => call(gateway, "DELETE", `/api/v1/keys/${id}`, { token: boss }),
        (id: string) => call(gateway, "PATCH", `/api/v1/keys/${id}`, { token: boss, body: { agents: [agent] } }),
        (id: string) =>
          call(gateway, "PATCH", `/api/v1/keys/${id}`, { token: boss, body: { expires_at: "1970-01-01T00:00:00Z" } }),
      ]) {
        const { id, key } = yield* makeKey(gateway, {})
        const [answers] = yield* Effect.all(
          [
            Effect.forEach(waits, (wait) => ask(key, wait), { concurrency: "unbounded" }),
            Effect.delay(Effect.andThen(hasArrived(gateway), end(id)), "1 second"),
          ],
          { concurrency: "unbounded" },
        ).pipe(Effect.timeout("20 seconds"))
        answers.forEach(({ status, text }, i) => {
          assert.strictEqual(status, waits[i]?.[2], `${waits[i]?.[1]}: ${text}`)
          assert.notMatch(text, /event: ended|"status":"queued"|TASK_STATE_COMPLETED/, waits[i]?.[1])
          // The status of a message was sent before its wait began.
          if (JSON.stringify(waits[i]).includes("SendMessage")) assert.nestedProperty(JSON.parse(text), "error.code")
        })
      }
      assert.isUndefined(open.pollUnsafe())
    }),
  )

  it.effect("end streams when they expire, and so do tokens", () =>
    Effect.gen(function* () {
      const { url } = yield* startGateway(yield* databaseUrl(database), { JOB_WORKERS: "0" })
      const token = yield* tokenFor("boss", { ttl: Duration.minutes(1) })
      const head = `GET /api/v1/changes HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`
      const { received, receives } = yield* openSocket(Number(new URL(url).port), head)
      yield* Effect.promise(() => receives(/: connected/))
      // Clocks may be 30 s apart.
      yield* TestClock.adjust("89 seconds")
      yield* hasArrived({ url })
      assert.notMatch(received(), /^0\r\n/m)
      yield* TestClock.adjust("1 second")
      yield* Effect.promise(() => receives(/^0\r\n/m))
    }),
  )

  it.effect("are refused when mistyped, expired, unknown or over their rate", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const list = (token: string) => call(gateway, "GET", "/api/v1/agents", { token })
      const { key } = yield* makeKey(gateway, { requests_per_minute: 1 })
      const mistyped = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`
      assert.strictEqual(problemIn(yield* list(mistyped)).code, "unauthorized")
      const expired = yield* makeKey(gateway, { expires_at: "1970-01-01T00:00:00Z" })
      assert.strictEqual(problemIn(yield* list(expired.key)).code, "unauthorized")
      assert.strictEqual((yield* list(key)).status, 200)
      assert.strictEqual(problemIn(yield* list(key)).code, "rate-limited")
    }),
  )

  it.effect("do not use up their tenant's rate with requests that their own limits or roles refuse", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { RATE_LIMIT_TENANT_EXECUTE: "2" })
      const path = `/api/v1/agents/${MISSING}/execute`
      const execute = (token: string) =>
        Effect.map(call(gateway, "POST", path, { token, body: { task: "Go." } }), ({ status }) => status)
      const { key: slow } = yield* makeKey(gateway, { requests_per_minute: 1 })
      const { key: reader } = yield* makeKey(gateway, { roles: ["read"] })
      const statuses = yield* Effect.forEach([slow, slow, slow, reader, reader], execute)
      assert.deepStrictEqual(statuses, [404, 429, 429, 403, 403])
      const { key } = yield* makeKey(gateway, {})
      assert.deepStrictEqual(yield* Effect.forEach([key, key], execute), [404, 429])
    }),
  )

  it.effect(
    "have no limit that they could evade, no budget without a limit, and no name that the audit trail cannot store",
    () =>
      Effect.gen(function* () {
        const gateway = yield* startGateway(yield* databaseUrl(database))
        const token = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
        for (const [members, path] of [
          // Such a key could make an unlimited one.
          [{ models: { allow: ["echo"] } }, "payload.roles"],
          [{ roles: ["run"], budgets: [{ per: "day" }] }, "payload.budgets"],
          ...["", "k\0", "line\nbreak", "x".repeat(201)].map((name) => [{ name }, "payload.name"] as const),
        ] as const) {
          const body = { name: "k", roles: ["manage"], ...members }
          const { errors } = problemIn(yield* call(gateway, "POST", "/api/v1/keys", { token, body }))
          assert.deepStrictEqual(
            errors?.map((each) => each.path),
            [path],
            JSON.stringify(members),
          )
        }
      }),
  )

  it.effect("expire at the same moment, whatever the time zone", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const token = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
      const expiring = (expires_at: string) =>
        call(gateway, "POST", "/api/v1/keys", { token, body: { name: "k", roles: ["run"], expires_at } })
      // 1 December in Europe, and 12 January in America; then times of the server's zone.
      for (const odd of ["01/12/2096", "2096", "2096-12-01", "2096-12-01T09:30:00", "1 Dec 2096 09:30 GMT"]) {
        assert.strictEqual((yield* expiring(odd)).status, 400, odd)
      }
      for (const given of ["2096-12-01T09:30:00Z", "2096-12-01T09:30:00.000000+00:00", "2096-12-01T11:30+02:00"]) {
        assert.strictEqual((yield* expiring(given)).json["expires_at"], "2096-12-01T09:30:00.000Z")
      }
    }),
  )

  it.effect("cannot be made by a token that names no role", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const token = yield* tokenFor("alice", { tenant: "acme" })
      const answer = yield* call(gateway, "POST", "/api/v1/keys", { token, body: { name: "k", roles: ["read"] } })
      assert.strictEqual(problemIn(answer).code, "forbidden")
    }),
  )

  it.effect("of administrators cannot be changed or revoked by managers", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const admin = yield* makeKey(gateway, { roles: ["admin"] })
      const manager = yield* makeKey(gateway, { roles: ["manage"] })
      const path = `/api/v1/keys/${admin.id}`
      for (const [method, body] of [
        ["PATCH", { roles: ["read"] }],
        ["DELETE", undefined],
      ] as const) {
        const answer = yield* call(gateway, method, path, {
          token: manager.key,
          body,
        })
        assert.strictEqual(problemIn(answer).code, "forbidden")
      }
    }),
  )

  it.effect("are written into the audit trail, without their secrets", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const { id, key } = yield* makeKey(gateway, { name: "robot", roles: ["admin"] })
      const agent = idOf(yield* call(gateway, "POST", "/api/v1/agents", { token: key, body: { name: "reviewer" } }))
      yield* call(gateway, "DELETE", `/api/v1/keys/${id}`, { token: key })
      const token = yield* tokenFor("boss", { roles: ["admin"] })
      const trail = yield* call(gateway, "GET", "/api/v1/audit", { token })
      const items = trail.json["items"] as ReadonlyArray<Members>
      assert.deepStrictEqual(
        items.map(({ action, key_id, subject, target }) => [subject, key_id, action, target]),
        [
          ["robot", id, "key.revoke", id],
          ["robot", id, "agent.create", agent],
          ["boss", null, "key.create", id],
        ],
      )
      assert.isFalse(trail.text.includes(key))
    }),
  )

  if (database.kind === "postgres")
    it.effect("are refused at once by the gateway that revokes them, and within a second by another one", () =>
      Effect.gen(function* () {
        const url = yield* databaseUrl(database)
        const [first, second] = [yield* startGateway(url), yield* startGateway(url)]
        const { id, key } = yield* makeKey(first, {})
        const token = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
        for (const gateway of [first, second]) {
          assert.strictEqual((yield* call(gateway, "GET", "/api/v1/agents", { token: key })).status, 200)
        }
        assert.strictEqual((yield* call(first, "DELETE", `/api/v1/keys/${id}`, { token })).status, 204)
        const chat = { token: key, body: { model: "echo-1", messages: HI } }
        assert.strictEqual((yield* call(first, "POST", "/v1/chat/completions", chat)).status, 401)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* call(second, "POST", "/v1/chat/completions", chat)).status, 401)
        assert.strictEqual((yield* call(second, "GET", "/api/v1/agents", { token: key })).status, 401)
        const stored = yield* SqlClient.SqlClient.use((sql) => sql`SELECT * FROM gateway_keys`).pipe(
          Effect.provide(layerPostgresClient({ url: Redacted.make(url), maxConnections: 1 })),
        )
        assert.isFalse(JSON.stringify(stored).includes(key.slice(4, 20)))
      }),
    )
})
