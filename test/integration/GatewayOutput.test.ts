/** Executions whose answer has to fit a schema. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeDatabases } from "../support/databases.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"

const output_schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }

describeDatabases("an execution with output_schema", (database) => {
  const setup = Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const gateway = yield* startGateway(yield* databaseUrl(database), {}, upstream)
    const token = yield* tokenFor("alice")
    const made = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a", default_mode: "direct" } })
    const execute = (body: object) =>
      call(gateway, "POST", `/api/v1/agents/${made.json["id"]}/execute`, { token, body: { task: "Where?", ...body } })
    const ended = Effect.fnUntraced(function* (body: object) {
      const { json } = yield* execute(body)
      return (yield* call(gateway, "GET", `/api/v1/jobs/${json["id"]}?wait=30`, { token })).json
    })
    return { upstream, execute, ended }
  })

  it.live("gives the output beside the answer, after one repair, or a problem that names what does not fit", () =>
    Effect.gen(function* () {
      const { ended, upstream } = yield* setup
      upstream.script({ text: '{"town":1}' }, { text: '{"city":"Oslo"}' }, { text: "no" }, { text: '{"city":1}' })
      const job = yield* ended({ options: { output_schema } })
      assert.deepInclude(job, { status: "completed", options: { output_schema } })
      assert.deepInclude(job["result"], { answer: '{"city":"Oslo"}', output: { city: "Oslo" } })
      const failed = yield* ended({ options: { output_schema } })
      assert.strictEqual(failed["status"], "failed")
      assert.deepInclude(failed["problem"], { code: "output-misfit", retryable: false })
      assert.include(JSON.stringify(failed["problem"]), "output.city must be string")
    }),
  )

  it.live("refuses other modes, and schemas that cannot be checked", () =>
    Effect.gen(function* () {
      const { execute, upstream } = yield* setup
      const other = problemIn(yield* execute({ mode: "verified", options: { output_schema } }))
      assert.deepInclude(other, { status: 422, code: "output-schema-refused" })
      for (const [schema, says] of [
        [{ type: "array" }, 'set "type" to "object"'],
        [{ type: "object", properties: { a: { pattern: "(a+)+$" } } }, "use only the keywords"],
        [{ type: "object", properties: { a: { $ref: "#" } } }, "use only the keywords"],
        [{ type: "object", properties: { a: { type: "text" } } }, 'correct the value of "type"'],
        [{ type: "object", title: "x".repeat(20_000) }, "16384 characters"],
        ["{}", "object"],
      ] as const) {
        const refused = problemIn(yield* execute({ options: { output_schema: schema } }))
        assert.deepInclude(refused, { status: 400, code: "invalid-request" })
        assert.include(JSON.stringify(refused.errors), JSON.stringify(says).slice(1, -1), JSON.stringify(schema))
        assert.strictEqual(refused.errors?.[0]?.path.startsWith("payload.options.output_schema"), true)
      }
      assert.strictEqual(upstream.requests.length, 0)
    }),
  )
})
