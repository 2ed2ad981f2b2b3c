/** Budgets of tenants and agents over HTTP. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, type TestGateway, tokenFor } from "../support/gateway.ts"

const BUDGETS = "/api/v1/budgets"
const HUGE = 1_000_000_000

const admin = tokenFor("boss", { tenant: "acme", roles: ["admin"] })

const makeAgent = Effect.fnUntraced(function* (gateway: TestGateway, members: object = {}) {
  const token = yield* admin
  const made = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "reviewer", ...members } })
  assert.strictEqual(made.status, 201, made.text)
  return String(made.json["id"])
})

/** The job of a task, once it has ended. */
const runTask = Effect.fnUntraced(function* (gateway: TestGateway, agent: string) {
  const token = yield* admin
  const queued = yield* call(gateway, "POST", `/api/v1/agents/${agent}/execute`, { token, body: { task: "x" } })
  return yield* call(gateway, "GET", `/api/v1/jobs/${String(queued.json["id"])}?wait=30`, { token })
})

const budgetsAt = Effect.fnUntraced(function* (gateway: TestGateway, query = "") {
  const { json } = yield* call(gateway, "GET", `${BUDGETS}${query}`, { token: yield* admin })
  return json["items"] as ReadonlyArray<Readonly<Record<string, unknown>>> // The contract describes this shape.
})

const put = Effect.fnUntraced(function* (gateway: TestGateway, budgets: ReadonlyArray<object>) {
  return yield* call(gateway, "PUT", BUDGETS, { token: yield* admin, body: { budgets } })
})

describeDatabases("budgets of tenants and agents", (database) => {
  it.live("bound the jobs of a tenant, and show what is spent, reserved and left", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const agent = yield* makeAgent(gateway)
      assert.deepStrictEqual(yield* budgetsAt(gateway), [])
      const [set] = (yield* put(gateway, [{ per: "month", max_tokens: HUGE }])).json["items"] as ReadonlyArray<object> // As above.
      const unused = { spent_tokens: 0, reserved_tokens: 0, left_tokens: HUGE, left_micro_usd: null }
      assert.deepInclude(set, { owner: { kind: "tenant", id: "acme" }, per: "month", max_tokens: HUGE, ...unused })

      const done = yield* runTask(gateway, agent)
      assert.strictEqual(done.json["status"], "completed", done.text)
      const [used] = yield* budgetsAt(gateway)
      const spent = Number(used?.["spent_tokens"])
      assert.isAbove(spent, 0)
      assert.deepInclude(used, { reserved_tokens: 0, left_tokens: HUGE - spent })
      assert.match(String(used?.["renews_at"]), /^\d{4}-\d{2}-01T00:00:00/)

      yield* put(gateway, [{ per: "total", max_tokens: 100 }])
      const refused = yield* runTask(gateway, agent)
      assert.deepInclude(refused.json["problem"], { code: "budget-exhausted", status: 402 })
      assert.include(refused.text, "The tenant's total budget")
    }),
  )

  it.live("bound the jobs of an agent, which others of its tenant do not share", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const [poor, other] = [
        yield* makeAgent(gateway, { budgets: [{ per: "day", max_tokens: 100 }] }),
        yield* makeAgent(gateway),
      ]
      const refused = yield* runTask(gateway, poor)
      // No renewal helps: the call takes more than the whole budget.
      assert.deepInclude(refused.json["problem"], { code: "budget-exhausted", status: 402 })
      assert.include(refused.text, "The agent's budget per day")
      assert.strictEqual((yield* runTask(gateway, other)).json["status"], "completed")
      assert.deepInclude((yield* budgetsAt(gateway, `?agent=${poor}`))[0], {
        owner: { kind: "agent", id: poor },
        spent_tokens: 0,
        left_tokens: 100,
      })
      const path = `/api/v1/agents/${poor}`
      const changed = yield* call(gateway, "PATCH", path, { token: yield* admin, body: { budgets: null } })
      assert.isUndefined(changed.json["budgets"])
      assert.strictEqual((yield* runTask(gateway, poor)).json["status"], "completed")
    }),
  )

  it.live("are refused when they contradict each other or limit nothing", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const wrong = [{ per: "day" }]
      const twice = [
        { per: "day", max_tokens: 1 },
        { per: "day", max_tokens: 2 },
      ]
      const token = yield* admin
      const agent = `/api/v1/agents/${yield* makeAgent(gateway)}`
      for (const budgets of [wrong, twice]) {
        const answers = [
          yield* put(gateway, budgets),
          yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a", budgets } }),
          yield* call(gateway, "PATCH", agent, { token, body: { budgets } }),
        ]
        for (const answer of answers) {
          assert.deepStrictEqual(
            problemIn(answer).errors?.map(({ path }) => path),
            ["payload.budgets"],
          )
        }
      }
    }),
  )
})
