/** The audit trail: a change and its entry are made together or not at all. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeDatabases } from "../support/databases.ts"
import { type Answer, call, databaseUrl, hasArrived, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { openSocket, postOf } from "../support/sockets.ts"
import { runBeside } from "../support/storedBeside.ts"

type Items = ReadonlyArray<Readonly<Record<string, unknown>>>

const idOf = ({ json }: Answer): string => String(json["id"])
const itemsOf = ({ json }: Answer) => json["items"] as Items

const LISTS = ["agents", "jobs", "threads", "schedules", "keys", "budgets", "secrets", "routing/config"]

describeDatabases("the audit trail", (database) => {
  const start = Effect.gen(function* () {
    const url = yield* databaseUrl(database)
    const gateway = yield* startGateway(url, { JOB_WORKERS: "0", SECRETS_KEY: Buffer.alloc(32, 1).toString("base64") })
    const token = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
    const ask = (method: string, path: string, body?: unknown) =>
      call(gateway, method, `/api/v1/${path}`, { token, body })
    const actions = (target?: string) =>
      Effect.map(ask("GET", "audit?limit=100"), (answer) =>
        itemsOf(answer).flatMap((entry) =>
          target === undefined || entry["target"] === target ? [entry["action"]] : [],
        ),
      )
    const rename = (from: string, to: string) => runBeside(database, url, `ALTER TABLE ${from} RENAME TO ${to}`)
    return { gateway, token, ask, actions, rename }
  })

  it.live("has every change, and changes whose entry cannot be written are not made", () =>
    Effect.gen(function* () {
      const { actions, ask, rename } = yield* start
      const post = (path: string, body?: object) => Effect.map(ask("POST", path, body), idOf)
      const [agent, key] = [yield* post("agents", { name: "a" }), yield* post("keys", { name: "k", roles: ["read"] })]
      const [job, other] = [
        yield* post(`agents/${agent}/execute`, { task: "x" }),
        yield* post(`agents/${agent}/execute`, { task: "y" }),
      ]
      const thread = yield* post("threads", { agent_id: agent })
      yield* post(`agents/${agent}/execute`, { task: "x", thread_id: thread })
      const plan = { agent_id: agent, cron: "0 7 * * *", request: { task: "x" } }
      const schedule = yield* post("schedules", plan)
      const secret = { value: "token-of-tool", origin: "https://example.com" }
      yield* ask("PUT", "secrets/s", secret)
      const { effective_prices: _, version: __, ...routing } = (yield* ask("GET", "routing/config")).json
      const changes: ReadonlyArray<readonly [action: string, method: string, path: string, body?: object]> = [
        ["agent.create", "POST", "agents", { name: "b" }],
        ["agent.update", "PATCH", `agents/${agent}`, { name: "c" }],
        ["key.create", "POST", "keys", { name: "l", roles: ["run"] }],
        ["key.update", "PATCH", `keys/${key}`, { max_running_jobs: 2 }],
        ["key.revoke", "DELETE", `keys/${key}`],
        ["job.cancel", "POST", `jobs/${job}/cancel`],
        ["job.remove", "DELETE", `jobs/${other}`],
        ["thread.remove", "DELETE", `threads/${thread}`],
        ["schedule.create", "POST", "schedules", plan],
        ["schedule.remove", "DELETE", `schedules/${schedule}`],
        ["budgets.put", "PUT", "budgets", { budgets: [{ per: "day", max_tokens: 9 }] }],
        ["routing.put", "PUT", "routing/config", routing],
        ["secret.put", "PUT", "secrets/t", secret],
        ["secret.remove", "DELETE", "secrets/s"],
        ["webhooks.secret", "POST", "webhooks/secret"],
        ["agent.remove", "DELETE", `agents/${agent}`],
      ]
      const state = Effect.forEach(LISTS, (list) => Effect.map(ask("GET", list), ({ text }) => text))
      const [before, noted] = [yield* state, yield* actions()]

      yield* rename("audit_entries", "moved")
      for (const [action, method, path, body] of changes) {
        assert.strictEqual(problemIn(yield* ask(method, path, body)).code, "storage-unavailable", action)
      }
      yield* rename("moved", "audit_entries")
      assert.deepStrictEqual(yield* state, before)

      for (const [action, method, path, body] of changes) {
        const answer = yield* ask(method, path, body)
        assert.isBelow(answer.status, 300, `${action}: ${answer.text}`)
      }
      const all = changes.map(([action]) => action)
      assert.deepStrictEqual(yield* actions(), [...all.toReversed(), ...noted])
    }),
  )

  it.live("has no cancellation of a job that had ended", () =>
    Effect.gen(function* () {
      const { actions, ask, gateway, token } = yield* start
      const agent = idOf(yield* ask("POST", "agents", { name: "a" }))
      const job = idOf(yield* ask("POST", `agents/${agent}/execute`, { task: "x" }))
      const cancel = Effect.map(ask("POST", `jobs/${job}/cancel`), ({ json }) => json["status"])
      const cancelled = yield* Effect.all(
        Array.from({ length: 16 }, () => cancel),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(new Set(cancelled), new Set(["cancelled"]))
      const body = { jsonrpc: "2.0", id: 1, method: "CancelTask", params: { id: job } }
      const { json } = yield* call(gateway, "POST", `/a2a/${agent}?A2A-Version=1.0`, { token, body })
      assert.nestedPropertyVal(json, "result.status.state", "TASK_STATE_CANCELED")
      assert.deepStrictEqual(yield* actions(job), ["job.cancel"])
    }),
  )

  it.live("has the changes of callers who disconnect", () =>
    Effect.gen(function* () {
      const { actions, ask, gateway, token } = yield* start
      const agent = idOf(yield* ask("POST", "agents", { name: "a" }))
      const port = Number(new URL(gateway.url).port)
      const authorization = `Bearer ${token}`
      for (let i = 0; i < 60; i++) {
        const bytes = postOf(`/api/v1/agents/${agent}`, { name: `a${i}` }, { authorization }).replace("POST", "PATCH")
        const { socket } = yield* openSocket(port, bytes)
        yield* Effect.sleep(i % 9)
        socket.resetAndDestroy()
      }
      yield* hasArrived(gateway)
      const { version } = (yield* ask("GET", `agents/${agent}`)).json
      assert.strictEqual((yield* actions(agent)).length, version)
    }),
  )
})
