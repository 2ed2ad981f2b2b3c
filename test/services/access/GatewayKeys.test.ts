/** Last uses of keys, which several processes write to one database. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { GatewayKeys } from "../../../src/services/access/GatewayKeys.ts"
import { describeDatabases } from "../../support/databases.ts"

const KEYS = 300
const acme = TenantId.make("acme")

/** A process with its keys, which writes their uses when its scope closes. */
const open = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Layer.fresh(GatewayKeys.layer), scope)
  return { keys: Context.get(context, GatewayKeys), close: Scope.close(scope, Exit.void) }
})

const makeKeys = (keys: GatewayKeys["Service"], count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.map(keys.create(acme, "boss", { name: "k", roles: ["run"] }), ({ key }) => Redacted.make(key)),
    { concurrency: 10 },
  )

describeDatabases("last uses of keys", (database) => {
  it.effect("do not go back if a process whose clock is behind writes them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const one = yield* open
      const [fresh, used] = yield* makeKeys(one.keys, 2)
      assert(fresh !== undefined && used !== undefined)
      const { key } = yield* one.keys.identify(used)
      yield* sql`UPDATE gateway_keys SET used_at = 5000 WHERE id = ${key?.id ?? ""}`
      yield* one.keys.identify(fresh)
      yield* one.close
      const times = sql<{ used_at: number }>`SELECT used_at FROM gateway_keys ORDER BY used_at`
      assert.deepStrictEqual(
        (yield* times).map(({ used_at }) => used_at),
        [0, 5000],
      )
    }).pipe(Effect.provide(database.layer)),
  )

  it.effect("are all written if two processes used the same keys in another order", () => {
    const lines: Array<string> = []
    const logged = Logger.layer([Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))])
    return Effect.gen(function* () {
      const [one, other] = [yield* open, yield* open]
      const made = yield* makeKeys(one.keys, KEYS)
      yield* Effect.forEach(made, one.keys.identify)
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(made.toReversed(), other.keys.identify)
      yield* Effect.all([one.close, other.close], { concurrency: "unbounded" })
      const sql = yield* SqlClient.SqlClient
      const times = yield* sql<{ used_at: number }>`SELECT DISTINCT used_at FROM gateway_keys`
      assert.deepStrictEqual(
        times.map(({ used_at }) => used_at),
        [1000],
      )
      assert.deepStrictEqual(lines, [])
    }).pipe(Effect.provide(Layer.merge(logged, database.layer)))
  })
})
