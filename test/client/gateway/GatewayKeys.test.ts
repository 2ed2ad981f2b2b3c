import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayClient, GatewayProblem } from "../../../src/client/gateway.ts"
import { databaseUrl, startGateway, tokenFor } from "../../support/gateway.ts"

describe("GatewayClient", () => {
  it.live("manages keys and reads the audit trail, in the wire format", () =>
    Effect.gen(function* () {
      const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const token = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
      yield* Effect.promise(async () => {
        const client = new GatewayClient({ baseUrl: url, token })
        const expires_at = "2100-01-01T00:00:00.000Z"
        const made = await client.keys.create({ name: "ci", roles: ["run"], expires_at })
        assert.deepInclude(made, { name: "ci", roles: ["run"], expires_at, created_by: "boss" })
        const holder = new GatewayClient({ baseUrl: url, token: made.key })
        assert.deepStrictEqual((await holder.agents.list()).items, [])

        const { key: _, ...stored } = made
        assert.deepInclude(await client.keys.get(made.id), stored)
        const changed = await client.keys.update(made.id, {
          expires_at: null,
          budgets: [{ per: "day", max_tokens: 9 }],
        })
        assert.notProperty(changed, "expires_at")
        const other = await client.keys.create({ name: "other", roles: ["read"] })
        const first = await client.keys.list({ limit: 1 })
        const second = await client.keys.list({ limit: 1, cursor: first.next_cursor ?? "" })
        assert.deepStrictEqual(
          [...first.items, ...second.items].map(({ budgets, id }) => [id, budgets]),
          [
            [other.id, undefined],
            [made.id, [{ per: "day", max_tokens: 9 }]],
          ],
        )

        await client.keys.revoke(made.id)
        const refusal = await holder.agents.list().catch((error: unknown) => error)
        assert.strictEqual(refusal instanceof GatewayProblem && refusal.problem.code, "unauthorized")
        const trail = await client.audit.list({ limit: 2 })
        assert.deepStrictEqual(
          trail.items.map(({ action, subject, target }) => [subject, action, target]),
          [
            ["boss", "key.revoke", made.id],
            ["boss", "key.create", other.id],
          ],
        )
        assert.isDefined(trail.next_cursor)
        // A misspelt limit must not make an unlimited key.
        const misspelt = { name: "k", roles: ["run"], budget: [] } as const
        assert.include(String(await client.keys.create(misspelt).catch((error: unknown) => error)), "budget")
      })
    }),
  )
})
