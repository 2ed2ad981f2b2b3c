/** Webhooks over sockets: a job ends, and a receiver verifies the notice with the reference library. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { toolServer } from "../support/toolServer.ts"

describeDatabases("webhooks of the gateway", (database) => {
  it.live("are signed with the tenant's secret, and with the previous one after a change", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { TOOL_PRIVATE_NETWORKS: "127.0.0.1" })
      const token = yield* tokenFor("alice")
      const post = (path: string, body?: object) => call(gateway, "POST", `/api/v1${path}`, { token, body })
      const receiver = yield* toolServer((_, response) => void response.writeHead(200).end())

      const early = yield* post("/agents", { name: "a", webhook_url: receiver.url })
      assert.deepInclude(problemIn(early), { status: 422, code: "webhook-secret-missing" })

      const first = yield* post("/webhooks/secret")
      assert.strictEqual(first.status, 201)
      assert.match(String(first.json["secret"]), /^whsec_/)
      const second = yield* post("/webhooks/secret")
      const { json: agent } = yield* post("/agents", { name: "a", webhook_url: `${receiver.url}/of-agent` })
      const { json: job } = yield* post(`/agents/${agent["id"]}/execute`, { task: "a secret task" })
      yield* Effect.promise(() => receiver.called)

      const [request] = receiver.requests
      if (request === undefined) throw new Error("There was no request.")
      assert.strictEqual(request.url, "/of-agent")
      // The library takes single values only, which these headers have.
      const headers = request.headers as Record<string, string>
      for (const { json } of [first, second]) new Webhook(String(json["secret"])).verify(request.body, headers)
      const third = yield* post("/webhooks/secret")
      assert.throws(() => new Webhook(String(third.json["secret"])).verify(request.body, headers))
      assert.deepInclude(JSON.parse(request.body), {
        type: "job.ended",
        data: { job_id: job["id"], agent_id: agent["id"], status: "completed" },
      })

      const delivered = yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}/deliveries`, { token }).pipe(
        Effect.repeat({ until: ({ text }) => text.includes("delivered"), times: 200 }),
      )
      assert.deepInclude(delivered.json["items"], {
        id: headers["webhook-id"],
        event: "job.ended",
        url: `${receiver.url}/of-agent`,
        status: "delivered",
        attempts: 1,
        created_at: JSON.parse(request.body).timestamp,
      })
      const other = yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}/deliveries`, {
        token: yield* tokenFor("bob"),
      })
      assert.deepInclude(problemIn(other), { status: 404, code: "job-not-found" })
    }),
  )

  it.live("are refused without a proper URL, and stop once the agent names none", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database))
      const token = yield* tokenFor("alice")
      yield* call(gateway, "POST", "/api/v1/webhooks/secret", { token })
      for (const webhook_url of [
        "ftp://example.com/",
        "https://a:b@example.com/",
        "nowhere",
        `https://e.com/${"x".repeat(3000)}`,
      ]) {
        const refused = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a", webhook_url } })
        assert.deepInclude(problemIn(refused), { status: 400, code: "invalid-request" })
      }
      const body = { name: "a", webhook_url: "https://example.com/hook" }
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body })
      assert.deepInclude(agent, body)
      const path = `/api/v1/agents/${agent["id"]}`
      const { json } = yield* call(gateway, "PATCH", path, { token, body: { webhook_url: null } })
      assert.notProperty(json, "webhook_url")
      const { json: job } = yield* call(gateway, "POST", `${path}/execute`, { token, body: { task: "x" } })
      yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}?wait=30`, { token })
      const { json: none } = yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}/deliveries`, { token })
      assert.deepStrictEqual(none, { items: [] })
    }),
  )
})
