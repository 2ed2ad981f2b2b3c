/** Models that ask people: jobs wait, also over restarts, and go on with the answer or without one. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { Job } from "../../src/domain/jobs/job.ts"
import { describeDatabases } from "../support/databases.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { call, databaseUrl, problemIn, startGateway, type TestGateway, tokenFor } from "../support/gateway.ts"
import { timed } from "../support/settableClock.ts"
import { openSocket } from "../support/sockets.ts"
import { toolServer } from "../support/toolServer.ts"

const decodeJob = Schema.decodeUnknownSync(Job)

const QUESTION = {
  question: "May I pay 40 dollars?",
  answer_schema: { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] },
}
const ASKS = { toolCalls: [{ name: "ask_person", arguments: QUESTION }] }

describeDatabases("a model that asks a person", (database) => {
  const setup = Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const url = yield* databaseUrl(database)
    const start = startGateway(url, { TOOL_PRIVATE_NETWORKS: "127.0.0.1" }, upstream)
    return { upstream, start, gateway: yield* start }
  })

  const ask = Effect.fnUntraced(function* (gateway: TestGateway, agent: object = {}, token?: string) {
    const bearer = token ?? (yield* tokenFor("alice"))
    const body = { name: "a", default_mode: "direct", ask_person: {}, ...agent }
    const { json: made } = yield* call(gateway, "POST", "/api/v1/agents", { token: bearer, body })
    const task = { token: bearer, body: { task: "Pay the bill." } }
    return String((yield* call(gateway, "POST", `/api/v1/agents/${made["id"]}/execute`, task)).json["id"])
  })

  const read = Effect.fnUntraced(function* (gateway: TestGateway, id: string, wait = 0) {
    const token = yield* tokenFor("alice")
    return decodeJob((yield* call(gateway, "GET", `/api/v1/jobs/${id}?wait=${wait}`, { token })).json)
  })

  const asked = (gateway: TestGateway, id: string) =>
    read(gateway, id).pipe(
      Effect.tap(Effect.sleep("10 millis")),
      Effect.repeat({ until: ({ status }) => status === "input_required", times: 1000 }),
    )

  const answer = Effect.fnUntraced(function* (gateway: TestGateway, id: string, body: unknown, subject = "alice") {
    return yield* call(gateway, "POST", `/api/v1/jobs/${id}/input`, { token: yield* tokenFor(subject), body })
  })

  it.live("waits for 23 hours over a restart, longer than its job may run, and continues with the answer", () =>
    timed((forward) =>
      Effect.gen(function* () {
        const { gateway: first, start, upstream } = yield* setup
        upstream.script(ASKS, { text: "Paid." })
        const id = yield* ask(first, { limits: { timeout_seconds: 60 } })
        const waiting = yield* asked(first, id)
        assert.deepInclude(waiting.question, { step: "tool-1-1", ...QUESTION })
        yield* first.stop
        forward("23 hours")
        const gateway = yield* start
        const wrong = problemIn(yield* answer(gateway, id, { answer: { approved: "yes" } }))
        assert.deepInclude(wrong, { status: 422, code: "input-invalid" })
        assert.deepStrictEqual(wrong.errors, [{ path: "payload.answer.approved", message: "must be boolean" }])
        assert.strictEqual(problemIn(yield* answer(gateway, id, { answer: { approved: true } }, "bob")).status, 404)
        const late = { answer: { approved: true }, step: "tool-2-1" }
        assert.strictEqual(problemIn(yield* answer(gateway, id, late)).code, "input-not-required")
        assert.strictEqual(upstream.requests.length, 1)

        const taken = yield* answer(gateway, id, { answer: { approved: true }, step: "tool-1-1" })
        assert.strictEqual(taken.status, 202, taken.text)
        assert.notProperty(taken.json, "question")
        const job = yield* read(gateway, id, 30)
        assert.deepInclude(job, { status: "completed", attempt: 1 })
        assert.deepInclude(job.result, { answer: "Paid.", turns: 2, tool_calls: 1 })
        assert.deepInclude(job.steps[1]?.tool, { name: "ask_person", output: '{"approved":true}', is_error: false })
        assert.strictEqual(job.usage.calls, 2)
        assert.include(JSON.stringify(upstream.requests[1]?.body), "approved")
        const again = problemIn(yield* answer(gateway, id, { answer: { approved: true } }))
        assert.deepInclude(again, { status: 409, code: "input-not-required" })
      }),
    ),
  )

  it.live("learns at the deadline that nobody answered", () =>
    timed((forward) =>
      Effect.gen(function* () {
        const { gateway, upstream } = yield* setup
        upstream.script(ASKS, { text: "Not paid." })
        const id = yield* ask(gateway)
        const { question } = yield* asked(gateway, id)
        const waits = (question?.deadline.epochMilliseconds ?? 0) - (question?.asked_at.epochMilliseconds ?? 0)
        assert.strictEqual(waits, Duration.toMillis("1 day"))
        forward("24 hours")
        const job = yield* read(gateway, id, 30)
        assert.deepInclude(job.result, { answer: "Not paid." })
        assert.deepInclude(job.steps[1]?.tool, { is_error: true })
        assert.include(job.steps[1]?.tool?.output, "Nobody answered in time.")
      }),
    ),
  )

  it.live("is announced to followers and webhooks, and cannot be answered after a cancellation", () =>
    Effect.gen(function* () {
      const { gateway, upstream } = yield* setup
      const token = yield* tokenFor("alice")
      const receiver = yield* toolServer((_, response) => void response.end())
      yield* call(gateway, "POST", "/api/v1/webhooks/secret", { token })
      upstream.script(ASKS)
      const id = yield* ask(gateway, { webhook_url: receiver.url }, token)
      yield* asked(gateway, id)
      yield* Effect.promise(() => receiver.called)
      assert.deepInclude(JSON.parse(receiver.requests[0]?.body ?? ""), { type: "job.input_required" })
      const { status } = (yield* call(gateway, "POST", `/api/v1/jobs/${id}/cancel`, { token })).json
      assert.strictEqual(status, "cancelled")
      assert.notProperty(yield* read(gateway, id), "question")
      const refused = problemIn(yield* answer(gateway, id, { answer: { approved: true } }))
      assert.strictEqual(refused.code, "input-not-required")
      const sent = yield* call(gateway, "GET", `/api/v1/jobs/${id}/deliveries`, { token })
      assert.deepStrictEqual(
        [...sent.text.matchAll(/"event":"([\w.]+)"/g)].map(([, name]) => name),
        ["job.input_required", "job.ended"],
      )
    }),
  )

  it.live("is an event with an id, after which a stream can be resumed", () =>
    Effect.gen(function* () {
      const { gateway, upstream } = yield* setup
      upstream.script(ASKS, { text: "Paid." })
      const id = yield* ask(gateway)
      const token = yield* tokenFor("alice")
      const path = `/api/v1/jobs/${id}/events`
      const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`
      const following = yield* openSocket(Number(new URL(gateway.url).port), head)
      yield* Effect.promise(() => following.receives(/^event: input_required$/m))
      yield* answer(gateway, id, { answer: { approved: true } })
      const text = yield* Effect.promise(() => following.ended)
      const names = [...text.matchAll(/^event: (step|input_required|ended)$/gm)].map(([, name]) => name)
      assert.deepStrictEqual(names, ["step", "input_required", "step", "step", "ended"])
      const resumed = yield* call(gateway, "GET", path, { token, headers: { "last-event-id": "2" } })
      assert.notInclude(resumed.text, "input_required\n")
    }),
  )

  it.live("reads the mistake in its question, and asks nobody", () =>
    Effect.gen(function* () {
      const { gateway, upstream } = yield* setup
      const bad = { ...QUESTION, answer_schema: { type: "object", properties: { a: { pattern: "(a+)+$" } } } }
      upstream.script({ toolCalls: [{ name: "ask_person", arguments: bad }] }, { text: "Never mind." })
      const job = yield* read(gateway, yield* ask(gateway), 30)
      assert.deepInclude(job.result, { answer: "Never mind." })
      assert.include(job.steps[1]?.tool?.output, "use only the keywords")
    }),
  )
})
