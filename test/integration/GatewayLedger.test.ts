/** The ledger over HTTP: filters, pages, CSV, and whose calls each caller sees. */
import { assert, it } from "@effect/vitest"
import { Array, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { layerPostgres, layerSqlite } from "../../src/layers/database/Database.ts"
import type { CallRecord } from "../../src/services/routing/CallRecord.ts"
import { Ledger } from "../../src/services/routing/Ledger.ts"
import { callRecord } from "../services/routing/callRecords.ts"
import { describeDatabases, type TestDatabase } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"

const START = Date.UTC(2026, 10, 1)
const MINUTE = 60_000

/** A gateway whose ledger has these calls. */
const gatewayWith = Effect.fnUntraced(function* (
  database: TestDatabase,
  calls: ReadonlyArray<CallRecord>,
  environment = {},
) {
  const url = yield* databaseUrl(database)
  const layer =
    database.kind === "sqlite"
      ? layerSqlite({ filename: url })
      : layerPostgres({ url: Redacted.make(url), maxConnections: 2 })
  yield* Ledger.use((ledger) => Effect.forEach(Array.chunksOf(calls, 1000), ledger.record, { discard: true })).pipe(
    Effect.provide(Layer.provide(Ledger.layer, layer)),
  )
  const gateway = yield* startGateway(url, environment)
  const token = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
  const read = (query: string, accept = "application/json") =>
    call(gateway, "GET", `/api/v1/ledger${query}`, { token, headers: { accept } })
  return { gateway, read }
})

interface Entry {
  readonly id: string
  readonly at: string
  readonly model: string
  readonly mode: string | null
  readonly role: string | null
  readonly job_id: string | null
  readonly agent_id: string | null
  readonly key_id: string | null
  readonly labels: unknown
  readonly estimated: boolean
}
const itemsIn = ({ json }: { readonly json: Readonly<Record<string, unknown>> }) =>
  json["items"] as ReadonlyArray<Entry>

describeDatabases("the ledger", (database) => {
  it.effect("lists every call of the tenant once, newest first, over all pages", () =>
    Effect.gen(function* () {
      // Three calls share each moment.
      const mine = Array.makeBy(25, (i) => callRecord({ at: START + Math.floor(i / 3) * MINUTE }))
      const { read } = yield* gatewayWith(database, [...mine, callRecord({ at: START, tenant: "other" })])
      const seen: Array<Entry> = []
      for (let query = "?limit=7", pages = 0; ; pages++) {
        const answer = yield* read(query)
        assert.strictEqual(answer.status, 200, answer.text)
        seen.push(...itemsIn(answer))
        const next = answer.json["next_cursor"]
        if (typeof next !== "string") {
          assert.strictEqual(pages, 3)
          break
        }
        query = `?limit=7&cursor=${next}`
      }
      const expected = mine.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
      assert.deepStrictEqual(
        seen.map(({ id }) => id),
        expected.map(({ id }) => id),
      )
      assert.lengthOf(itemsIn(yield* read("?scope=all")), 26)
    }),
  )

  it.effect("filters by time, agent, model and provider, also calls without a job", () =>
    Effect.gen(function* () {
      const [agent, key] = [SecureRandom.uuidV7Unsafe(), SecureRandom.uuidV7Unsafe()]
      const { read } = yield* gatewayWith(database, [
        callRecord({ at: START, model: "a", agent, provider: "provider2" }),
        callRecord({ at: START + MINUTE, model: "b", agent, key, labels: { team: "a,b" } }),
        // Without a job.
        callRecord({
          at: START + 2 * MINUTE,
          model: "c",
          key,
          estimated: true,
          job: null,
          agent: null,
          mode: null,
          role: null,
        }),
      ])
      const at = (minutes: number) => new Date(START + minutes * MINUTE).toISOString()
      for (const [query, models] of [
        ["", "cba"],
        [`?from=${at(1)}`, "cb"],
        [`?to=${at(1)}`, "a"],
        [`?from=${at(1)}&to=${at(2)}`, "b"],
        [`?agent_id=${agent}`, "ba"],
        [`?agent_id=${agent}&scope=all`, "ba"],
        [`?key_id=${key}`, "cb"],
        [`?key_id=${key}&agent_id=${agent}`, "b"],
        [`?key_id=${key}&scope=all`, "cb"],
        ["?model=c", "c"],
        ["?model=c&provider=provider2", ""],
        ["?provider=provider2", "a"],
        [`?agent_id=${SecureRandom.uuidV7Unsafe()}`, ""],
      ] as const) {
        const answer = yield* read(query)
        assert.strictEqual(
          itemsIn(answer)
            .map(({ model }) => model)
            .join(""),
          models,
          query,
        )
        assert.notProperty(answer.json, "next_cursor")
      }
      assert.deepStrictEqual(
        itemsIn(yield* read(`?key_id=${key}`)).map(({ estimated, key_id, labels }) => [key_id, labels, estimated]),
        [
          [key, {}, true],
          [key, { team: "a,b" }, false],
        ],
      )
      const nothing = { job_id: null, agent_id: null, mode: null, role: null }
      assert.deepInclude(itemsIn(yield* read("?model=c"))[0], nothing)
    }),
  )

  it.effect("reads 2,000 calls for a page of a rare model, and continues from there", () =>
    Effect.gen(function* () {
      const calls = Array.makeBy(2001, (i) => callRecord({ at: START + i, model: i === 0 ? "rare" : "usual" }))
      const { read } = yield* gatewayWith(database, calls)
      const first = yield* read("?model=rare")
      assert.deepStrictEqual(itemsIn(first), [])
      const second = yield* read(`?model=rare&cursor=${String(first.json["next_cursor"])}`)
      assert.strictEqual(itemsIn(second)[0]?.id, calls[0]?.id)
      assert.notProperty(second.json, "next_cursor")
    }),
  )

  it.effect("is CSV on request, with a link to the next page and without formulas", () =>
    Effect.gen(function* () {
      const { gateway, read } = yield* gatewayWith(database, [
        callRecord({ at: START, model: `=HYPERLINK("x"),1` }),
        callRecord({ at: START + 1, cost: null, tokens: null, baseline: null }),
      ])
      const first = yield* read("?limit=1&from=2026-11-01T00:00:00Z", "text/csv")
      assert.strictEqual(first.headers.get("content-type"), "text/csv; charset=utf-8; header=present")
      const [header = "", row = ""] = first.text.split("\r\n")
      const columns = header.split(",")
      assert.deepStrictEqual(columns.slice(0, 2), ["id", "at"])
      const cells = row.split(",")
      assert.strictEqual(cells[columns.indexOf("at")], "2026-11-01T00:00:00.001Z")
      for (const name of ["cost_micro_usd", "input_tokens"]) assert.strictEqual(cells[columns.indexOf(name)], "", name)
      const [, next = ""] = /^<(.*)>; rel="next"$/.exec(first.headers.get("link") ?? "") ?? []
      const token = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
      const second = yield* call(gateway, "GET", next, { token, headers: { accept: "text/csv" } })
      assert.include(second.text, `,"'=HYPERLINK(""x""),1",`)
      assert.isNull(second.headers.get("link"))
    }),
  )

  it.effect("loses calls older than LEDGER_RETENTION", () =>
    Effect.gen(function* () {
      // The test's clock begins at 0.
      const days = [-40, -27, 0].map((day) => day * 1440 * MINUTE)
      const { read } = yield* gatewayWith(
        database,
        days.map((at) => callRecord({ at })),
        { LEDGER_RETENTION: "1 month" },
      )
      while (itemsIn(yield* read("?from=1969-01-01T00:00:00Z")).length > 2) yield* Effect.yieldNow
      assert.deepStrictEqual(
        itemsIn(yield* read("?from=1969-01-01T00:00:00Z")).map(({ at }) => Date.parse(at)),
        [0, days[1]],
      )
    }),
  )

  it.effect("refuses cursors that it did not issue, and names that Postgres cannot compare", () =>
    Effect.gen(function* () {
      const { read } = yield* gatewayWith(database, [])
      const encoded = ['["a",1]', '[1,"\\u0000"]', '[1,""]'].map((text) => Buffer.from(text).toString("base64url"))
      for (const cursor of ["x", "!", "bnVsbA", ...encoded]) {
        assert.strictEqual(problemIn(yield* read(`?cursor=${cursor}`)).code, "cursor-invalid", cursor)
      }
      for (const query of ["?limit=1001", "?agent_id=reviewer", "?model=%00", "?provider=%00", "?model=a%0Ab"]) {
        assert.strictEqual(problemIn(yield* read(query)).code, "invalid-request", query)
      }
    }),
  )
})
