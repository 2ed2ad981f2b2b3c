/** A gateway whose Postgres goes and comes back: what its callers, its probes and its jobs see of it. */
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect } from "effect"
import { call, callOperator, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { postgresCanStart, privatePostgres, setReadOnly } from "../support/privatePostgres.ts"

/** Much longer than a request may take to report that the database is away. */
const HUNG = "10 seconds"
const SOON = "30 seconds"

const retried = <E>(condition: Effect.Effect<boolean, E>) =>
  condition.pipe(
    Effect.tap((met) => (met ? Effect.void : Effect.sleep("100 millis"))),
    Effect.repeat({ until: (met) => met }),
    Effect.timeout(SOON),
  )

/** A gateway with a database of its own and an agent, whose answers come within `patience`. */
const setUp = Effect.fnUntraced(function* (patience: Duration.Input) {
  const postgres = yield* privatePostgres
  const gateway = yield* startGateway(postgres.url)
  const token = yield* tokenFor("alice")
  const ask = (method: string, path: string, body?: unknown) =>
    call(gateway, method, path, { token, body }).pipe(Effect.timeout(patience))
  const { json: agent } = yield* ask("POST", "/api/v1/agents", { name: "a" })
  return { postgres, gateway, token, ask, execute: `/api/v1/agents/${agent["id"]}/execute` }
})

describe.runIf(postgresCanStart)("a gateway whose Postgres fails", () => {
  it.live("reports in time that Postgres is gone, is not ready, and works again once it is back", () =>
    Effect.gen(function* () {
      const { ask, execute, gateway, postgres, token } = yield* setUp(HUNG)
      const { json: before } = yield* ask("POST", execute, { task: "before" })

      for (const mode of ["fast", "immediate"] as const) {
        yield* postgres.stop(mode)
        for (const [method, path, body] of [
          ["GET", "/api/v1/agents", undefined],
          ["GET", "/api/v1/routing/stats", undefined],
          ["GET", `/api/v1/jobs/${before["id"]}?wait=5`, undefined],
          ["GET", `/api/v1/jobs/${before["id"]}/events`, undefined],
          ["POST", execute, { task: "meanwhile" }],
          ["POST", `/api/v1/jobs/${before["id"]}/cancel`, undefined],
        ] as const) {
          const answer = yield* ask(method, path, body)
          assert.deepInclude(problemIn(answer), { status: 503, code: "storage-unavailable", retryable: true }, path)
          assert.isNotNull(answer.headers.get("retry-after"))
        }
        // The gateway uses the last state of the database for a second.
        yield* retried(Effect.map(ask("GET", "/ready"), ({ status }) => status === 503))
        const ready = yield* callOperator(gateway, "/ready")
        assert.deepInclude(ready.json, {
          database: { kind: "postgres", ok: false, reason: "it does not answer; the log has the reason" },
        })
        assert.strictEqual((yield* ask("GET", "/health")).status, 200)
        assert.strictEqual((yield* callOperator(gateway, "/metrics")).status, 200)

        yield* postgres.start
        yield* retried(Effect.map(ask("GET", "/ready"), ({ status }) => status === 200))
        const { json: after, status } = yield* ask("POST", execute, { task: "after" })
        assert.strictEqual(status, 202)
        const ended = yield* call(gateway, "GET", `/api/v1/jobs/${after["id"]}?wait=20`, { token })
        assert.deepInclude(ended.json, { status: "completed" })
      }
      assert.deepInclude((yield* ask("GET", `/api/v1/jobs/${before["id"]}?wait=20`)).json, { status: "completed" })
    }),
  )

  it.live("is not ready while Postgres is read-only, and works again once it takes writes", () =>
    Effect.gen(function* () {
      const { ask, execute, gateway, postgres } = yield* setUp(SOON)
      yield* setReadOnly(postgres.url, "on")
      const reason = "it is read-only, after a failover or because its disk is full (25006)"
      const said = Effect.map(callOperator(gateway, "/ready"), ({ json }) => JSON.stringify(json["database"]))
      yield* retried(
        Effect.map(said, (database) => database === JSON.stringify({ kind: "postgres", ok: false, reason })),
      )
      assert.strictEqual((yield* ask("GET", "/ready")).status, 503)
      yield* setReadOnly(postgres.url, "off")
      yield* retried(Effect.map(ask("GET", "/ready"), ({ status }) => status === 200))
      const { json: after } = yield* ask("POST", execute, { task: "after" })
      assert.deepInclude((yield* ask("GET", `/api/v1/jobs/${after["id"]}?wait=20`)).json, { status: "completed" })
    }),
  )

  it.live("reports in time that Postgres hangs, and works again once it answers", () =>
    Effect.gen(function* () {
      const { ask, execute, postgres } = yield* setUp(SOON)
      yield* postgres.freeze
      const [read, written, ready] = yield* Effect.all(
        [ask("GET", "/api/v1/agents"), ask("POST", execute, { task: "meanwhile" }), ask("GET", "/ready")],
        { concurrency: "unbounded" },
      )
      for (const answer of [read, written]) {
        assert.deepInclude(problemIn(answer), { status: 503, code: "storage-unavailable", retryable: true })
      }
      assert.strictEqual(ready.status, 503)
      yield* postgres.thaw
      yield* retried(Effect.map(ask("GET", "/ready"), ({ status }) => status === 200))
      const { json: after } = yield* ask("POST", execute, { task: "after" })
      assert.deepInclude((yield* ask("GET", `/api/v1/jobs/${after["id"]}?wait=20`)).json, { status: "completed" })
    }),
  )
})
