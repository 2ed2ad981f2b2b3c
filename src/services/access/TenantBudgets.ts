/** Budgets of tenants. */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Budgeted,
  type TenantBudgetList as Budgets,
  TenantBudgetList as Document,
} from "../../domain/access/budgets.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { makeRecent } from "../recent.ts"
import { decodeRows, encodeRow, givenRows, unavailable } from "../storedRows.ts"

const Row = Schema.Struct({ tenant: Schema.String, budgets: Schema.fromJsonString(Document) })
const decode = decodeRows("tenant_budgets", Row)
const encode = encodeRow("tenant_budgets", Row)

export class TenantBudgets extends Context.Service<
  TenantBudgets,
  {
    readonly get: (tenant: string) => Effect.Effect<Budgets, StorageUnavailable>
    /** Replaces all budgets of the tenant. */
    readonly put: (tenant: string, budgets: Budgets) => Effect.Effect<void, StorageUnavailable>
    /** The budgets that a call of the tenant must fit, up to a second old. */
    readonly ofCall: (tenant: string) => Effect.Effect<ReadonlyArray<Budgeted>, StorageUnavailable>
  }
>()("sealgate/services/access/TenantBudgets") {
  static readonly layer = Layer.effect(
    TenantBudgets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const given = givenRows(sql, { tenant: "TEXT" })
      const { forget, now, recent } = yield* makeRecent<Budgets>(
        Effect.fnUntraced(function* (tenants) {
          const rows = yield* decode(
            yield* sql`SELECT tenant, budgets FROM tenant_budgets
              WHERE tenant IN (SELECT tenant FROM ${given(tenants.map((tenant) => ({ tenant })))})`,
          )
          const known = new Map(rows.map(({ budgets, tenant }) => [tenant, budgets]))
          return tenants.map((tenant) => known.get(tenant) ?? [])
        }),
      )

      return TenantBudgets.of({
        get: now,
        put: Effect.fnUntraced(function* (tenant, budgets) {
          const row = yield* encode({ tenant, budgets })
          yield* sql`INSERT INTO tenant_budgets ${sql.insert(row)}
            ON CONFLICT (tenant) DO UPDATE SET budgets = excluded.budgets`
          yield* forget(tenant)
        }, unavailable),
        ofCall: (tenant) =>
          Effect.map(recent(tenant), (budgets) =>
            budgets.length === 0 ? [] : [{ owner: { kind: "tenant", id: tenant }, budgets }],
          ),
      })
    }),
  )
}
