/** The gateway's way down, and what it does when its database fails. */
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { sqlite } from "../support/databases.ts"
import {
  call,
  callOperator,
  databaseUrl,
  hasArrived,
  problemIn,
  startGateway,
  type TestGateway,
  tokenFor,
} from "../support/gateway.ts"
import { openSocket } from "../support/sockets.ts"
import { withinTurns } from "../support/withinTurns.ts"

/** A request whose body is on its way: the connection, and the rest of the body. */
const beginSlowCreate = Effect.fnUntraced(function* (url: string, token: string) {
  const body = '{"name":"slow"}'
  const head = `POST /api/v1/agents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  const connection = yield* openSocket(Number(new URL(url).port), head + body.slice(0, 5))
  return { ...connection, finish: () => connection.write(body.slice(5)) }
})

/** The operator's `/ready` once the shutdown has begun. */
const drains = (gateway: TestGateway) =>
  callOperator(gateway, "/ready").pipe(
    Effect.repeat({ until: ({ status }) => status === 503, schedule: Schedule.spaced("10 millis") }),
    withinTurns("5 seconds"),
  )

describe("a gateway that stops", () => {
  it.live("logs it, begins no new jobs, and finishes work in flight", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(sqlite))
      const token = yield* tokenFor("alice")
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
      const execute = call(gateway, "POST", `/api/v1/agents/${agent["id"]}/execute`, { token, body: { task: "x" } })
      const slow = yield* beginSlowCreate(gateway.url, token)
      yield* hasArrived(gateway)

      const stopping = yield* Effect.forkChild(gateway.stop)
      const ready = yield* drains(gateway)
      assert.deepInclude(ready.json, { status: "unavailable", draining: true })
      const refused = yield* execute
      assert.deepInclude(problemIn(refused), { status: 503, code: "draining", retryable: true })
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.strictEqual((yield* call(gateway, "GET", "/api/v1/agents", { token })).status, 200)

      slow.finish()
      assert.match(yield* Effect.promise(() => slow.ended), /^HTTP\/1\.1 201 /)
      yield* Fiber.join(stopping)
      const gone = yield* Effect.exit(Effect.tryPromise(() => fetch(`${gateway.url}/health`)))
      assert.strictEqual(gone._tag, "Failure")
    }),
  )
})

describe("a gateway whose database fails", () => {
  it.live("answers 503 without the database's message", () =>
    Effect.gen(function* () {
      const file = yield* databaseUrl(sqlite)
      const gateway = yield* startGateway(file, { JOB_WORKERS: "0" })
      const token = yield* tokenFor("alice")
      yield* Effect.sync(() => {
        const database = new DatabaseSync(file)
        database.exec("DROP TABLE agents; ALTER TABLE jobs RENAME TO canary_table")
        database.close()
      })
      const answer = yield* call(gateway, "GET", "/api/v1/agents", { token })
      assert.deepInclude(problemIn(answer), { status: 503, code: "storage-unavailable", retryable: true })
      assert.strictEqual(answer.headers.get("retry-after"), "1")
      assert.notMatch(answer.text, /agents"? ?\(|SQL|table/i)
      const ready = yield* callOperator(gateway, "/ready")
      assert.strictEqual(ready.status, 503)
      assert.deepInclude(ready.json, {
        database: { kind: "sqlite", ok: false, reason: "it does not answer; the log has the reason" },
      })
      assert.strictEqual((yield* call(gateway, "GET", "/health")).status, 200)
      assert.strictEqual((yield* callOperator(gateway, "/metrics")).status, 200)
    }),
  )
})
