/** The stream of a tenant's changes over sockets. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayClient } from "../../src/client/gateway.ts"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"

describeDatabases("the changes of a tenant", (database) => {
  it.live("are announced to its followers, to administrators, and to no other tenant", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl(database)
      const gateway = yield* startGateway(url)
      const as = (subject: string, roles: ReadonlyArray<string> = []) =>
        Effect.map(tokenFor(subject, { roles }), (token) => new GatewayClient({ baseUrl: gateway.url, token }))
      const [alice, bob, admin] = [yield* as("alice"), yield* as("bob"), yield* as("admin", ["admin"])]
      yield* Effect.promise(async () => {
        const stop = new AbortController()
        const { signal } = stop
        const heard: Array<string> = []
        const followed = async (name: string, changes: AsyncGenerator<void, void>) => {
          await changes.next()
          return async () => {
            await changes.next()
            heard.push(name)
          }
        }
        const [own, all, others] = await Promise.all([
          followed("own", alice.changes({ signal })),
          followed("all", admin.changes({ scope: "all", signal })),
          followed("others", bob.changes({ signal })),
        ])
        const silent = others().catch(() => undefined)
        const { id } = await alice.agents.create({ name: "a" })
        const next = Promise.all([own(), all()])
        const job = await alice.agents.execute(id, { task: "x" })
        await next
        await job.wait()
        stop.abort()
        await silent
        assert.deepStrictEqual(heard.toSorted(), ["all", "own"])
      })
      const refused = yield* call(gateway, "GET", "/api/v1/changes?scope=all", { token: yield* tokenFor("bob") })
      assert.deepInclude(problemIn(refused), { status: 403 })
    }),
  )

  it.live("count among the tenant's waiting requests", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), { MAX_WAITING_PER_TENANT: "1" })
      const token = yield* tokenFor("alice")
      const client = new GatewayClient({ baseUrl: gateway.url, token })
      const stop = new AbortController()
      const changes = client.changes({ signal: stop.signal })
      yield* Effect.promise(() => changes.next())
      assert.strictEqual((yield* call(gateway, "GET", "/api/v1/changes", { token })).status, 429)
      stop.abort()
    }),
  )
})
