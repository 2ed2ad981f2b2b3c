/** Reports of the gateway to tenants: jobs found and counted, typical costs, latencies, and the health of providers. */
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { GatewayClient } from "../../src/client/gateway.ts"
import { describeDatabases } from "../support/databases.ts"
import { FakeUpstream, fault } from "../support/FakeUpstream.ts"
import { call, databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"

const ANSWER = { text: "443", usage: { input: 100, output: 10 } }

describeDatabases("the gateway's overview", (database) => {
  const stage = Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    fake.always(ANSWER)
    const gateway = yield* startGateway(
      yield* databaseUrl(database),
      {
        PROVIDER1_MODEL: "gpt-6-sol",
        JOB_RETRY_FOR: "1min",
      },
      fake,
    )
    const clientFor = (subject: string, roles: ReadonlyArray<string> = []) =>
      Effect.map(tokenFor(subject, { roles }), (token) => new GatewayClient({ baseUrl: gateway.url, token }))
    const token = yield* tokenFor("alice")
    return {
      fake,
      alice: yield* clientFor("alice"),
      root: yield* clientFor("root", ["admin"]),
      mallory: yield* clientFor("mallory"),
      get: (path: string) => call(gateway, "GET", path, { token }),
    }
  })
  type Stage = Effect.Success<typeof stage>
  const test = <E>(name: string, body: (stage: Stage) => Effect.Effect<void, E, Scope.Scope>) =>
    it.live(name, () => Effect.flatMap(stage, body))

  test("finds jobs by mode, time and text, within the tenant", ({ alice, get, mallory }) =>
    Effect.promise(async () => {
      const { id } = await alice.agents.create({ name: "a" })
      const first = await alice.agents.execute(id, {
        task: 'Is "100 %_sure" a Name of naïve C:\\ports?',
        mode: "verified",
      })
      const second = await alice.agents.execute(id, {
        messages: [{ role: "user", content: "Ports\nof 100 protocols" }],
      })
      await Promise.all([first.wait(), second.wait()])
      const found = async (filter: Parameters<typeof alice.jobs.list>[0]) =>
        (await alice.jobs.list(filter)).items.map((job) => job.id)
      assert.deepStrictEqual(await found({ mode: "verified" }), [first.id])
      assert.deepStrictEqual(await found({ q: "100" }), [second.id, first.id])
      assert.deepStrictEqual(await found({ q: "100", mode: "adversarial" }), [second.id])
      // The characters that LIKE and JSON treat specially stand for themselves.
      for (const q of ["%_s", '"100 %_SURE" a name', "NAïVE c:\\P", "\\", first.id, first.job.trace_id]) {
        assert.deepStrictEqual(await found({ q }), [first.id], q)
      }
      assert.deepStrictEqual(await found({ q: "ports\nOF" }), [second.id])
      for (const q of ["1_0", "!", "\\\\", "100%"]) assert.deepStrictEqual(await found({ q }), [], q)
      const { created_at } = second.job
      assert.deepStrictEqual(await found({ from: created_at }), [second.id])
      assert.deepStrictEqual(await found({ to: created_at }), [first.id])
      assert.deepStrictEqual(await found({ from: created_at, to: created_at }), [])
      assert.deepStrictEqual((await mallory.jobs.list({ q: "100" })).items, [])
      const page = await alice.jobs.list({ q: "100", limit: 1 })
      assert.deepStrictEqual(
        page.items.map((job) => job.id),
        [second.id],
      )
      assert.isDefined(page.next_cursor)
      assert.deepStrictEqual(await found({ q: "100", limit: 1, cursor: page.next_cursor ?? "" }), [first.id])
      for (const query of ["q=", `q=${"x".repeat(201)}`, "mode=no+mode", "from=noon"]) {
        assert.strictEqual((await Effect.runPromise(get(`/api/v1/jobs?${query}`))).status, 400, query)
      }
      const { json: misspelt } = await Effect.runPromise(get("/api/v1/jobs?mode=verifed"))
      assert.deepInclude(misspelt, { status: 422, code: "mode-unknown" })
      assert.include(misspelt["detail"], "verified")
    }))

  test("searches beyond a page without a match", ({ alice }) =>
    Effect.promise(async () => {
      const { id } = await alice.agents.create({ name: "a" })
      const needle = await alice.agents.execute(id, { task: "the needle" })
      for (let i = 0; i < 10; i++) await alice.agents.execute(id, { task: "hay".repeat(300_000) })
      const found: Array<string> = []
      let cursor: string | undefined
      let pages = 0
      do {
        const page = await alice.jobs.list({ q: "needle", ...(cursor === undefined ? {} : { cursor }) })
        found.push(...page.items.map((job) => job.id))
        cursor = page.next_cursor
        pages++
      } while (cursor !== undefined)
      assert.deepStrictEqual(found, [needle.id])
      // Two tasks of 0.9 MB are more than one page searches.
      assert.isAtLeast(pages, 10)
    }))

  test("counts jobs and reports their typical cost", ({ alice, fake, mallory }) =>
    Effect.promise(async () => {
      assert.deepInclude(await alice.jobs.summary(), { running: 0, completed: 0, typical_costs: [] })
      // Postgres cannot read U+0000 as a part of JSON.
      const { id } = await alice.agents.create({ name: "a", default_effort: "high", instructions: "a\u0000b" })
      const costs: Array<number> = []
      for (const output of [10, 1000, 100]) {
        fake.always({ text: "443", usage: { input: 100, output } })
        const job = await (await alice.agents.execute(id, { task: "x", mode: "verified" })).wait()
        costs.push(job.cost_micro_usd ?? 0)
      }
      await (await alice.agents.execute(id, { task: "x", mode: "verified", options: { samples: 1 } })).wait()
      fake.always(fault.invalidRequest())
      await (await alice.agents.execute(id, { task: "x" })).wait().catch(() => undefined)
      const summary = await alice.jobs.summary()
      assert.deepInclude(summary, { running: 0, queued: 0, completed: 4, failed: 1, cancelled: 0 })
      const median = costs.toSorted((a, b) => a - b)[1] ?? 0
      assert.deepStrictEqual(summary.typical_costs, [
        { mode: "verified", effort: "high", cost_micro_usd: median, jobs: 3 },
      ])
      assert.deepInclude(await alice.jobs.summary({ from: new Date(Date.now() + 60_000) }), { completed: 0, failed: 0 })
      assert.deepInclude(await mallory.jobs.summary(), { completed: 0, failed: 0, typical_costs: [] })
    }))

  test("says why an attempt failed while the job waits for the next one", ({ alice, fake }) =>
    Effect.promise(async () => {
      fake.always(fault.overloaded())
      const { id } = await alice.agents.create({ name: "a" })
      const job = await alice.agents.execute(id, { task: "x" })
      for await (const event of job.events()) {
        if (event.type === "begun") continue
        assert.strictEqual(event.type === "step" ? event.step.problem?.code : event.type, "upstream-unavailable")
        break
      }
      for (let waited = 0; (await alice.jobs.summary()).retrying === 0; waited++) assert.isBelow(waited, 200)
      const known = await alice.jobs.get(job.id)
      assert.deepInclude(known, { status: "queued", attempt: 2 })
      assert.strictEqual(known.steps[0]?.problem?.code, "upstream-unavailable")
      assert.deepInclude(await alice.jobs.summary(), { queued: 1, retrying: 1 })
      await job.cancel()
    }))

  test("reports latencies, and the health of providers without others' secrets", ({
    alice,
    fake,
    get,
    mallory,
    root,
  }) =>
    Effect.promise(async () => {
      const { id } = await alice.agents.create({ name: "a" })
      await (await alice.agents.execute(id, { task: "x" })).wait()
      const { by_provider_model, latency_p50_ms, latency_p95_ms } = await alice.routing.stats()
      assert.isAtLeast(latency_p50_ms ?? 0, 1)
      assert.isAtLeast(latency_p95_ms ?? 0, latency_p50_ms ?? 0)
      assert.strictEqual(by_provider_model[0]?.latency_p50_ms, latency_p50_ms)
      assert.isNull((await mallory.routing.stats()).latency_p50_ms)
      assert.deepStrictEqual(await alice.routing.providers(), [
        { provider: "provider1", model: "gpt-6-sol", circuit: "closed", fault: null, last_failure: null },
      ])

      fake.always(fault.unauthorized())
      await (await alice.agents.execute(id, { task: "x" })).wait().catch(() => undefined)
      const [seen] = await alice.routing.providers()
      assert.deepInclude(seen?.last_failure, { model: "gpt-6-sol", outcome: "unauthorized" })
      assert.hasAllKeys(seen?.fault, ["since", "model", "outcome", "lasting"])
      assert.notProperty(seen, "models")
      const [theirs] = await mallory.routing.providers()
      assert.isNull(theirs?.last_failure)
      const [all] = await root.routing.providers({ scope: "all" })
      assert.deepInclude(all?.fault, { outcome: "unauthorized" })
      assert.include(all?.fault?.fix, "PROVIDER1_API_KEY")
      assert.deepInclude(all?.last_failure, { outcome: "unauthorized" })
      assert.deepStrictEqual(all?.models, [{ model: "gpt-6-sol", circuit: "closed" }])
      assert.strictEqual((await Effect.runPromise(get("/api/v1/routing/providers?scope=all"))).status, 403)
    }))
})
