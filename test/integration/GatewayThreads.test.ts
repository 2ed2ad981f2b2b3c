/** Threads of agents, over real sockets: what a job continues, and who may see it. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { HISTORY } from "../../src/domain/jobs/thread.ts"
import { startCalls } from "../support/calls.ts"
import { describeDatabases } from "../support/databases.ts"
import { call, problemIn, tokenFor } from "../support/gateway.ts"
import { fault } from "../support/FakeUpstream.ts"

const messagesIn = (body: unknown): ReadonlyArray<unknown> =>
  typeof body === "object" && body !== null && "messages" in body && Array.isArray(body.messages) ? body.messages : []

/** A gateway with an agent, and what a caller does with threads. */
const setup = Effect.fnUntraced(function* (database: Parameters<typeof startCalls>[0]) {
  const { boss, fake, gateway, makeKey } = yield* startCalls(database)
  const api = (method: string, path: string, body?: object, token = boss) =>
    call(gateway, method, `/api/v1${path}`, { token, body })
  const makeAgent = Effect.map(
    api("POST", "/agents", { name: "a", default_mode: "direct", model_policy: { allow: ["model-1"] } }),
    ({ json }) => String(json["id"]),
  )
  const agent = yield* makeAgent
  const begin = Effect.map(api("POST", "/threads", { agent_id: agent }), ({ json, status, text }) => {
    assert.strictEqual(status, 201, text)
    return String(json["id"])
  })
  const enqueue = (thread: string, task: unknown, of = agent) =>
    api("POST", `/agents/${of}/execute`, {
      thread_id: thread,
      ...(typeof task === "string" ? { task } : { messages: task }),
    })
  const ended = (id: string) => Effect.map(api("GET", `/jobs/${id}?wait=30`), ({ json }) => json)
  /** Runs a job in the thread to its end. */
  const say = Effect.fnUntraced(function* (thread: string, task: unknown) {
    const given = yield* enqueue(thread, task)
    assert.strictEqual(given.status, 202, given.text)
    return yield* ended(String(given.json["id"]))
  })
  /** The messages of the newest call. */
  const heard = () => messagesIn(fake.requests.at(-1)?.body)
  return { agent, api, begin, ended, enqueue, fake, gateway, heard, makeAgent, makeKey, say }
})

describeDatabases("a thread", (database) => {
  it.live("gives a job the tasks and answers of the thread's completed jobs, and no others", () =>
    Effect.gen(function* () {
      const { begin, enqueue, ended, fake, heard, say } = yield* setup(database)
      const thread = yield* begin
      fake.script({ text: "Oslo." }, { text: "Bergen." }, fault.invalidRequest(), { text: "Two." })
      const first = yield* say(thread, "The capital?")
      assert.deepInclude(first, { status: "completed", thread_id: thread, task: "The capital?" })
      yield* say(thread, [{ role: "user", content: "And the second city?" }])
      const failed = yield* say(thread, "Fail.")
      assert.strictEqual(failed["status"], "failed")
      assert.strictEqual((yield* say(thread, "How many?"))["status"], "completed")
      assert.deepStrictEqual(heard(), [
        { role: "user", content: "The capital?" },
        { role: "assistant", content: "Oslo." },
        { role: "user", content: "And the second city?" },
        { role: "assistant", content: "Bergen." },
        { role: "user", content: "How many?" },
      ])
      fake.always({ text: "ok" })
      const other = yield* enqueue(yield* begin, "Alone.")
      yield* ended(String(other.json["id"]))
      assert.deepStrictEqual(heard(), [{ role: "user", content: "Alone." }])
    }),
  )

  it.live("leaves out old jobs that make it too long, each as a whole", () =>
    Effect.gen(function* () {
      const { begin, fake, heard, say } = yield* setup(database)
      const thread = yield* begin
      fake.always({ text: "ok" })
      const long = "x".repeat(HISTORY.bytes / 2)
      for (const task of [`first ${long}`, `second ${long}`, "third"]) yield* say(thread, task)
      assert.deepStrictEqual(
        heard().map((message) => JSON.stringify(message).slice(0, 40)),
        [
          `{"role":"user","content":"second xxxxxxx`,
          `{"role":"assistant","content":"ok"}`,
          `{"role":"user","content":"third"}`,
        ],
      )
    }),
  )

  it.live("has one open job at a time, also if jobs arrive together or one is resumed", () =>
    Effect.gen(function* () {
      const { api, begin, enqueue, ended, fake, say } = yield* setup(database)
      const thread = yield* begin
      fake.always(fault.invalidRequest())
      const failed = yield* say(thread, "Fail.")
      fake.clear()
      fake.always(fault.silence)
      const given = yield* Effect.all(
        Array.from({ length: 8 }, (_, i) => enqueue(thread, `Task ${i}`)),
        { concurrency: "unbounded" },
      )
      const [open, ...more] = given.filter(({ status }) => status === 202)
      assert.deepStrictEqual(more, [])
      for (const refused of given.filter(({ status }) => status !== 202)) {
        assert.deepInclude(problemIn(refused), { code: "thread-busy", status: 409, retryable: true })
      }
      const resumed = yield* api("POST", `/jobs/${String(failed["id"])}/resume`)
      assert.deepInclude(problemIn(resumed), { code: "thread-busy", status: 409 })
      yield* api("POST", `/jobs/${String(open?.json["id"])}/cancel`)
      fake.clear()
      fake.always({ text: "ok" })
      assert.strictEqual((yield* api("POST", `/jobs/${String(failed["id"])}/resume`)).status, 202)
      assert.strictEqual((yield* ended(String(failed["id"])))["status"], "completed")
    }),
  )

  it.live("belongs to one tenant and one agent", () =>
    Effect.gen(function* () {
      const { agent, api, begin, enqueue, gateway, makeAgent, makeKey } = yield* setup(database)
      const thread = yield* begin
      const other = yield* makeAgent
      const missing = { code: "thread-not-found", status: 404 }
      assert.deepInclude(problemIn(yield* enqueue(thread, "Hi", other)), missing)
      assert.deepInclude(problemIn(yield* enqueue("01890a5d-ac96-774b-bcce-b302099a8057", "Hi")), missing)
      const stranger = yield* tokenFor("eve", { tenant: "other", roles: ["admin"] })
      const limited = yield* makeKey({ agents: [other] })
      for (const token of [stranger, limited]) {
        assert.deepInclude(problemIn(yield* api("GET", `/threads/${thread}`, undefined, token)), missing)
        assert.deepStrictEqual((yield* api("GET", "/threads", undefined, token)).json["items"], [])
        const begun = yield* api("POST", "/threads", { agent_id: agent }, token)
        assert.deepInclude(problemIn(begun), { code: "agent-not-found", status: 404 })
      }
      const removed = yield* call(gateway, "DELETE", `/api/v1/threads/${thread}`, { token: stranger })
      assert.deepInclude(problemIn(removed), missing)
      assert.deepInclude(problemIn(yield* api("GET", "/threads/x")), missing)
      assert.deepInclude((yield* api("GET", `/threads/${thread}`)).json, { id: thread, agent_id: agent })
    }),
  )

  it.live("is deleted with its jobs, an open one included", () =>
    Effect.gen(function* () {
      const { api, begin, enqueue, fake, say } = yield* setup(database)
      const [thread, kept] = [yield* begin, yield* begin]
      fake.always({ text: "ok" })
      yield* say(thread, "First.")
      yield* say(kept, "Other.")
      fake.always(fault.silence)
      yield* enqueue(thread, "Second.")
      const jobsOf = (id: string) =>
        Effect.map(api("GET", `/jobs?thread_id=${id}`), ({ json }) => (json["items"] as ReadonlyArray<unknown>).length)
      assert.deepStrictEqual([yield* jobsOf(thread), yield* jobsOf(kept)], [2, 1])
      assert.strictEqual((yield* api("DELETE", `/threads/${thread}`)).status, 204)
      assert.deepStrictEqual([yield* jobsOf(thread), yield* jobsOf(kept)], [0, 1])
      assert.deepInclude(problemIn(yield* enqueue(thread, "Third.")), { code: "thread-not-found" })
      const items = (yield* api("GET", "/threads")).json["items"] as ReadonlyArray<{ readonly id: string }>
      assert.deepStrictEqual(
        items.map(({ id }) => id),
        [kept],
      )
    }),
  )
})
