/** Calls that cost nothing themselves, within a budget of their tenant and one of their key. One unit is one call. */
import { Context, Effect, Layer, Redacted, Scope } from "effect"
import { layerPostgres, layerSqlite } from "../../src/layers/database/Database.ts"
import { Budgets, type PlannedCall } from "../../src/services/budgets/Budgets.ts"
import { Ledger } from "../../src/services/routing/Ledger.ts"
import type { Work } from "../harness/Load.ts"

const CONNECTIONS = 3

const PLANNED: PlannedCall = {
  budgeted: [
    { owner: { kind: "tenant", id: "bench" }, budgets: [{ per: "month", max_cost_micro_usd: 1_000_000_000_000 }] },
    { owner: { kind: "key", id: "bench" }, budgets: [{ per: "day", max_tokens: 1_000_000_000_000 }] },
  ],
  worst: { cost: 8000, tokens: 8500 },
  asked: {
    account: {
      tenant: "bench",
      job: "job",
      agent: "agent",
      key: "key",
      labels: {},
      mode: "verified",
      role: "proposer",
      extra: false,
    },
    strategy: "cost",
    target: { provider: "provider1", model: "gpt-6-luna" },
  },
}

/** `database` is the path of an SQLite file, or a `postgres://` URL. */
export const make = async ({ database }: { readonly database: string }): Promise<Work> => {
  const layer = Budgets.layer.pipe(
    Layer.provide(Ledger.layer),
    Layer.provide(
      database.startsWith("postgres:")
        ? layerPostgres({ url: Redacted.make(database), maxConnections: CONNECTIONS })
        : layerSqlite({ filename: database }),
    ),
  )
  const context = await Effect.runPromise(Layer.buildWithScope(layer, Scope.makeUnsafe()))
  const budgets = Context.get(context, Budgets)
  const call = budgets.within(PLANNED, Effect.void, () => ({ cost: 100, tokens: 600 }))
  return { unit: () => Effect.runPromise(call) }
}
