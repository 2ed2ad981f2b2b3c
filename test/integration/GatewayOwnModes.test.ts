/** Modes that an embedding program defines: their jobs are as durable as those of the built-in modes. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Option, Schema } from "effect"
import { Job } from "../../src/domain/jobs/job.ts"
import { defineMode, Gateway, type OwnJob, type OwnMode } from "../../src/index.ts"
import { describeDatabases } from "../support/databases.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { call, databaseUrl, problemIn, startGateway, type TestGateway, tokenFor } from "../support/gateway.ts"
import { timed } from "../support/settableClock.ts"
import { runBeside } from "../support/storedBeside.ts"
import { calculator, toolServer } from "../support/toolServer.ts"

const decodeJob = Schema.decodeUnknownSync(Job)

const mode = (run: OwnMode["run"], more: Partial<OwnMode> = {}) => defineMode({ name: "triage", run, ...more })

/** A step that notes each time it runs. */
const makeNoted = () => {
  const ran: Array<string> = []
  const noted = (job: OwnJob, name: string) =>
    job.step(
      name,
      Schema.String,
      Effect.sync(() => {
        ran.push(name)
        return `${name} ${ran.length}`
      }),
    )
  return { ran, noted }
}

describeDatabases("an own mode", (database) => {
  const setup = Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const url = yield* databaseUrl(database)
    const start = (...modes: ReadonlyArray<OwnMode>) =>
      startGateway(
        url,
        {
          TOOL_PRIVATE_NETWORKS: "127.0.0.1",
          SHUTDOWN_GRACE: "50ms",
        },
        upstream,
        modes,
      )
    /** Makes every job due, as if the database's clock had been set forward. To be run while no gateway is. */
    const allDue = runBeside(database, url, "UPDATE jobs SET due_at = 0")
    return { upstream, start, allDue }
  })

  const send = Effect.fnUntraced(function* (gateway: TestGateway, method: string, path: string, body?: unknown) {
    return yield* call(gateway, method, `/api/v1/${path}`, { token: yield* tokenFor("alice"), body })
  })
  const makeAgent = (gateway: TestGateway, agent: object = {}) =>
    Effect.map(send(gateway, "POST", "agents", { name: "a", ...agent }), ({ json }) => String(json["id"]))
  const enqueue = Effect.fnUntraced(function* (gateway: TestGateway, agent: object = {}, task: object = {}) {
    const body = { task: "Sort this out.", mode: "Triage", ...task }
    const sent = yield* send(gateway, "POST", `agents/${yield* makeAgent(gateway, agent)}/execute`, body)
    assert.strictEqual(sent.status, 202, sent.text)
    return decodeJob(sent.json)
  })
  const read = (gateway: TestGateway, id: string, wait = 0) =>
    Effect.map(send(gateway, "GET", `jobs/${id}?wait=${wait}`), ({ json }) => decodeJob(json))
  const until = (gateway: TestGateway, id: string, isSo: (job: Job) => boolean) =>
    read(gateway, id).pipe(Effect.tap(Effect.sleep("10 millis")), Effect.repeat({ until: isSo, times: 1000 }))

  it.live("gives the next job of a thread words in place of an empty answer", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* setup
      const triage = mode((job) =>
        typeof job.task === "string"
          ? Effect.succeed({ answer: "", output: { sorted: true } })
          : Effect.map(job.propose("draft"), ({ text }) => ({ answer: text })),
      )
      const gateway = yield* start(triage)
      const agent_id = yield* makeAgent(gateway)
      const { json: thread } = yield* send(gateway, "POST", "threads", { agent_id })
      for (const task of ["Sort this out.", "Say why."]) {
        const body = { task, mode: "Triage", thread_id: thread["id"] }
        const { json: job } = yield* send(gateway, "POST", `agents/${agent_id}/execute`, body)
        assert.strictEqual((yield* read(gateway, String(job["id"]), 30)).status, "completed")
      }
      assert.deepStrictEqual(
        upstream.requests[0]?.asked?.turns.map(({ text }) => text),
        ["Sort this out.", "(no answer)", "Say why."],
      )
    }),
  )

  it.live("asks models, tools and people, waits for hours without a worker, and repeats no step after restarts", () =>
    timed((forward) =>
      Effect.gen(function* () {
        const { allDue, start, upstream } = yield* setup
        const stock = yield* toolServer((_, response) => void response.end("7 left"))
        const { url: calc } = yield* calculator()
        const { noted, ran } = makeNoted()
        const triage = mode(
          (job) =>
            Effect.gen(function* () {
              yield* noted(job, "open")
              const kit = yield* job.tools(2)
              const about = { instruction: "In one word.", sections: [] }
              const { text } = yield* job.propose("draft", { kit, about })
              const { value } = yield* job.decide("size", Schema.Struct({ large: Schema.Boolean }), {
                role: "judge",
                instruction: "Is it large?",
                sections: [],
              })
              const left = yield* job.tool("look", "stock", { id: 7 })
              const sum = yield* job.tool("count", "calc__add", { a: 40, b: 2 })
              yield* job.waitFor("cool-down", "3 hours")
              const said = yield* job.ask("approve", {
                question: "May I close it?",
                answer: Schema.Struct({ approved: Schema.Boolean }),
              })
              yield* noted(job, "close")
              const approved = Option.isSome(said) && said.value.approved
              return {
                answer: text,
                output: { approved, large: value?.large ?? null, left: left.text, sum: sum.text },
                note: "Done.",
              }
            }),
          { maxCalls: { proposer: 2, judge: 2 } },
        )
        const first = yield* start(triage)
        upstream.script(
          { toolCalls: [{ name: "stock", arguments: {} }] },
          { text: "Trifle." },
          { text: '{"large":false}' },
        )
        const tools = [{ name: "stock", description: "x", input_schema: { type: "object" }, url: stock.url }]
        const mcp_servers = [{ name: "calc", url: calc }]
        const {
          at_most,
          id,
          mode: name,
        } = yield* enqueue(first, { tools, mcp_servers, limits: { timeout_seconds: 60 } })
        assert.deepStrictEqual([name, at_most?.calls], ["triage", 4])
        const waiting = yield* until(first, id, ({ waiting: why }) => why?.reason === "timer")
        const hours = ((waiting.waiting?.until?.epochMilliseconds ?? 0) - Date.now()) / 3_600_000
        assert.closeTo(hours, 3, 0.1)
        yield* first.stop

        // Another process finds the job due, but its clock is behind, so the job continues to wait.
        yield* allDue
        const second = yield* start(triage)
        yield* until(second, id, ({ waiting: why }) => why?.reason === "timer")
        yield* second.stop
        yield* allDue
        forward("3 hours")
        const third = yield* start(triage)
        const asked = yield* until(third, id, ({ status }) => status === "input_required")
        assert.deepInclude(asked.question, { step: "approve", question: "May I close it?" })
        yield* third.stop
        const fourth = yield* start(triage)
        yield* send(fourth, "POST", `jobs/${id}/input`, { answer: { approved: true } })
        const job = yield* read(fourth, id, 30)
        assert.deepInclude(job, { status: "completed", mode: "triage", attempt: 1 })
        assert.deepStrictEqual(job.result, {
          mode: "own",
          name: "triage",
          answer: "Trifle.",
          output: { approved: true, large: false, left: "7 left", sum: "42" },
          verdict: "unchecked",
          confidence: null,
          independent: false,
          note: "Done.",
        })
        assert.deepStrictEqual(
          job.steps.map((step) => step.name),
          [
            "open",
            "tools-1",
            "draft-1",
            "tool-draft-1-1",
            "draft-2",
            "size",
            "look",
            "count",
            "cool-down",
            "approve",
            "close",
          ],
        )
        assert.deepInclude(job.steps[6]?.tool, { name: "stock", output: "7 left" })
        assert.deepStrictEqual(ran, ["open", "close"])
        assert.deepStrictEqual([upstream.requests.length, stock.requests.length, job.usage.calls], [3, 2, 3])
        assert.include((yield* send(fourth, "GET", "jobs?mode=triage")).text, id)
      }),
    ),
  )

  it.live(
    "lets running steps end before it waits, interrupts those that outlast a shutdown, and hears a cancellation",
    () =>
      timed((forward) =>
        Effect.gen(function* () {
          const { allDue, start } = yield* setup
          const { noted, ran } = makeNoted()
          const [entered, gate, stopped] = [Deferred.makeUnsafe(), Deferred.makeUnsafe(), Deferred.makeUnsafe()]
          const hanging = Effect.andThen(Deferred.succeed(entered, undefined), Effect.never)
          let runs = 0
          const triage = mode((job) =>
            Effect.gen(function* () {
              runs++
              const slow = job.step("slow", Schema.String, Effect.as(Deferred.await(gate), "slow"))
              const waited = Effect.andThen(job.waitFor("rest", "1 hour"), noted(job, "after"))
              yield* Effect.all([slow, waited], { concurrency: 2 })
              const end = Effect.onInterrupt(hanging, () => Deferred.succeed(stopped, undefined))
              return yield* job.step("hangs", Schema.Never, end)
            }),
          )
          const first = yield* start(triage)
          const { id } = yield* enqueue(first)
          yield* until(first, id, ({ steps }) => steps.length === 1)
          assert.strictEqual((yield* read(first, id)).status, "running")
          yield* Deferred.succeed(gate, undefined)
          const waiting = yield* until(first, id, ({ status }) => status === "queued")
          assert.sameMembers(
            waiting.steps.map(({ name }) => name),
            ["slow", "rest"],
          )
          yield* first.stop
          yield* allDue
          forward("1 hour")
          const second = yield* start(triage)
          yield* Deferred.await(entered)
          yield* second.stop
          yield* Deferred.await(stopped)
          const third = yield* start(triage)
          yield* until(third, id, () => runs === 3)
          assert.strictEqual((yield* send(third, "POST", `jobs/${id}/cancel`)).json["status"], "cancelled")
          assert.deepStrictEqual(ran, ["after"])
        }),
      ),
  )

  it.live("is retried after a retryable failure, and fails for good with its program's detail", () =>
    Effect.gen(function* () {
      const { start } = yield* setup
      const { noted, ran } = makeNoted()
      const triage = mode((job) =>
        Effect.gen(function* () {
          yield* noted(job, "once")
          if (job.attempt > 1) return yield* job.fail({ detail: "The shelf is gone." })
          return yield* job.step("twice", Schema.Never, job.fail({ detail: "Busy.", retryable: true }))
        }),
      )
      const gateway = yield* start(triage)
      const job = yield* Effect.flatMap(enqueue(gateway), ({ id }) => read(gateway, id, 30))
      assert.deepInclude(job, { status: "failed", attempt: 2 })
      assert.deepInclude(job.problem, { code: "mode-failed", status: 422, detail: "The shelf is gone." })
      assert.deepStrictEqual(
        job.steps.map(({ name, problem, status }) => [name, status, problem?.detail]),
        [
          ["once", "completed", undefined],
          ["twice", "failed", "Busy."],
        ],
      )
      assert.deepStrictEqual(ran, ["once"])
    }),
  )

  it.live("reports its author's mistakes", () =>
    Effect.gen(function* () {
      const { start } = yield* setup
      const result = { answer: "x" }
      const mistakes: ReadonlyArray<readonly [string, OwnMode["run"], string]> = [
        [
          "twice",
          (job) => Effect.as(Effect.andThen(job.propose("a"), job.propose("a")), result),
          '"a" was begun twice',
        ],
        ["unnamed", (job) => Effect.as(job.propose("Ä"), result), "lower-case letters"],
        [
          "unfit",
          (job) => Effect.as(job.step("a", Schema.Finite, Effect.succeed(NaN)), result),
          'step "a" does not fit',
        ],
        [
          "unasked",
          (job) => Effect.as(job.ask("a", { question: "?", answer: Schema.String }), result),
          "struct of plain types",
        ],
        [
          "infinite",
          (job) => Effect.as(job.ask("a", { question: "?", answer: Schema.Struct({ n: Schema.Number }) }), result),
          "numbers are Schema.Finite",
        ],
      ]
      const own = mistakes.map(([name, run]) => mode(run, { name }))
      const gateway = yield* start(...own)
      for (const [name, , words] of mistakes) {
        const { id } = yield* enqueue(gateway, {}, { mode: name })
        const { problem } = yield* read(gateway, id, 30)
        assert.deepInclude(problem, { code: "mode-failed" }, name)
        assert.include(problem?.detail, words, name)
      }
    }),
  )

  it.live("keeps the limits of its agent, has an unknown bound without them, and a bounded result", () =>
    Effect.gen(function* () {
      const { start } = yield* setup
      const talks = mode((job) =>
        Effect.as(
          Effect.forEach(["a", "b", "c"], (name) => job.propose(name)),
          { answer: "x" },
        ),
      )
      const large = mode(() => Effect.succeed({ answer: "x".repeat(256 * 1024) }), { name: "large" })
      const gateway = yield* start(talks, large)
      assert.notProperty(yield* enqueue(gateway), "at_most")
      const limited = yield* enqueue(gateway, { limits: { max_calls: 2 } })
      assert.strictEqual(limited.at_most?.calls, 2)
      assert.strictEqual((yield* read(gateway, limited.id, 30)).problem?.code, "call-limit-reached")
      const huge = yield* enqueue(gateway, {}, { mode: "large" })
      assert.include((yield* read(gateway, huge.id, 30)).problem?.detail, "262144 bytes")
    }),
  )

  it.live("must be defined: undefined ones are refused by name, and a job of a removed mode waits for its return", () =>
    Effect.gen(function* () {
      const { allDue, start } = yield* setup
      const first = yield* start(mode(() => Effect.succeed({ answer: "" })))
      const agent = yield* makeAgent(first, { default_mode: "TRIAGE" })
      const unknown = problemIn(yield* send(first, "POST", `agents/${agent}/execute`, { task: "x", mode: "Chaos" }))
      assert.deepInclude(unknown, {
        status: 422,
        code: "mode-unknown",
        detail: "There is no mode chaos; possible are adversarial, verified, direct, triage.",
      })
      const codes = yield* Effect.forEach(
        [
          send(first, "POST", "agents", { name: "b", default_mode: "chaos" }),
          send(first, "PATCH", `agents/${agent}`, { default_mode: "chaos" }),
          send(first, "POST", "schedules", {
            agent_id: agent,
            cron: "0 7 * * *",
            request: { task: "x", mode: "chaos" },
          }),
        ],
        Effect.map((answer) => problemIn(answer).code),
      )
      assert.deepStrictEqual(codes, ["mode-unknown", "mode-unknown", "mode-unknown"])
      const bad = problemIn(yield* send(first, "POST", `agents/${agent}/execute`, { task: "x", mode: "no mode" }))
      assert.deepInclude(bad, { status: 400, code: "invalid-request" })
      yield* first.stop

      const slow = mode((job) => Effect.as(job.waitFor("rest", "1 hour"), { answer: "" }))
      const second = yield* start(slow)
      const { json } = yield* send(second, "POST", `agents/${agent}/execute`, { task: "x" })
      const id = String(json["id"])
      yield* until(second, id, ({ status, steps }) => status === "queued" && steps.length === 1)
      yield* second.stop
      yield* allDue
      const without = yield* start()
      const retrying = yield* until(without, id, ({ attempt, waiting }) => attempt > 1 && waiting !== undefined)
      assert.strictEqual(retrying.waiting?.reason, "retry")
      const late = problemIn(yield* send(without, "POST", `agents/${agent}/execute`, { task: "x" }))
      assert.strictEqual(late.code, "mode-unknown")
      yield* without.stop
      yield* allDue
      const back = yield* start(mode(() => Effect.succeed({ answer: "Sorted." })))
      assert.deepInclude((yield* read(back, id, 30)).result, { answer: "Sorted." })
    }),
  )

  it("needs a name that is free", () => {
    const run = () => Effect.succeed({ answer: "" })
    for (const name of ["direct", "own", "", "Triage", "a b", "x".repeat(33)]) {
      assert.throws(() => defineMode({ name, run }), /A mode cannot be named/)
    }
    assert.throws(() => Gateway.modes([mode(run), mode(run)]), /Two modes have the same name/)
  })
})
