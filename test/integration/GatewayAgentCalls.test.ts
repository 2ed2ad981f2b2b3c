/** Agents as models of the gateway's Chat Completions. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { APIError } from "openai"
import { describeDatabases } from "../support/databases.ts"
import { ask, startCalls } from "../support/calls.ts"
import { call } from "../support/gateway.ts"
import { collected, failing } from "../support/promises.ts"

describeDatabases("agents as models", (database) => {
  it.live("answer chats with a job whose id is in a header, whole and streamed", () =>
    Effect.gen(function* () {
      const { boss, fake, gateway, makeKey, openai } = yield* startCalls(database)
      fake.always({ text: '{"answer":"391 is 17 × 23.","final":"391 is 17 × 23.","confidence":0.9}' })
      const made = yield* call(gateway, "POST", "/api/v1/agents", {
        token: boss,
        body: { name: "re\u0000viewer", default_mode: "verified" },
      })
      yield* call(gateway, "POST", "/api/v1/agents", { token: boss, body: { name: "other" } })
      const id = String(made.json["id"])
      const { chat, models } = openai(yield* makeKey({ agents: [id] }))
      const model = "agent:re\u0000viewer"
      const { data, response } = yield* Effect.promise(() =>
        chat.completions.create(ask("Is it?", model)).withResponse(),
      )
      const job = yield* call(gateway, "GET", `/api/v1/jobs/${response.headers.get("sealgate-job")}`, { token: boss })
      assert.strictEqual(job.json["agent_id"], id)
      assert.strictEqual(data.choices[0]?.message.content, Object(job.json["result"]).answer)
      assert.strictEqual(data.usage?.completion_tokens, Object(job.json["usage"]).output_tokens)
      const chunks = yield* collected(chat.completions.create({ ...ask("Is it?", `agent:${id}`), stream: true }))
      assert.strictEqual(
        chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
        data.choices[0]?.message.content,
      )
      assert.deepStrictEqual(
        (yield* collected(models.list())).map(({ id }) => id),
        [model],
      )
      const byId = yield* Effect.promise(() => models.retrieve(`agent:${id}`))
      assert.strictEqual(byId.id, `agent:${id}`)
      for (const [name, status] of [
        ["agent:other", 404],
        ["agent:none", 404],
        ["model-1", 403],
      ] as const) {
        const refused = yield* failing(chat.completions.create(ask("Is it?", name)))
        assert.instanceOf(refused, APIError)
        assert.strictEqual(refused.status, status, name)
      }
    }),
  )

  it.live("treat members that are null as absent", () =>
    Effect.gen(function* () {
      const { boss, fake, gateway, makeKey } = yield* startCalls(database)
      fake.always({ text: '{"answer":"Yes.","final":"Yes.","confidence":0.9}' })
      yield* call(gateway, "POST", "/api/v1/agents", { token: boss, body: { name: "reviewer" } })
      const answer = yield* call(gateway, "POST", "/v1/chat/completions", {
        token: yield* makeKey(),
        body: {
          model: "agent:reviewer",
          messages: [
            { role: "user", content: "Hi" },
            { role: "assistant", content: "Hello", tool_calls: null },
            { role: "user", content: "Is it?" },
          ],
          tools: null,
          tool_choice: null,
          parallel_tool_calls: null,
          response_format: null,
        },
      })
      assert.strictEqual(answer.status, 200, answer.text)
    }),
  )

  it.live("make one job of a request that is repeated with its Idempotency-Key, and pass its failure on", () =>
    Effect.gen(function* () {
      const { boss, fake, gateway, makeKey, openai } = yield* startCalls(database)
      fake.always({ text: "391 is 17 × 23." })
      yield* call(gateway, "POST", "/api/v1/agents", {
        token: boss,
        body: { name: "reviewer", default_mode: "verified", limits: { max_calls: 1 } },
      })
      const { chat } = openai(yield* makeKey())
      const request = () =>
        chat.completions.create(ask("Is it?", "agent:reviewer"), { headers: { "idempotency-key": "once" } })
      const failed = yield* failing(request())
      assert.instanceOf(failed, APIError)
      assert.deepInclude(failed, { status: 422, code: "call-limit-reached" })
      yield* failing(request())
      const jobs = yield* call(gateway, "GET", "/api/v1/jobs", { token: boss })
      assert.lengthOf(Object(jobs.json["items"]), 1)
      const tools = [{ type: "function" as const, function: { name: "f" } }]
      const refused = yield* failing(chat.completions.create({ ...ask("Is it?", "agent:reviewer"), tools }))
      assert.deepInclude(Object(refused), { status: 400, param: "tools" })
    }),
  )
})
