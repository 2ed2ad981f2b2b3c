import { Schema } from "effect"
import { type Budget, BudgetReport } from "../../domain/access/budgets.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { ApiPart, type CallOptions, run } from "./gatewayCalls.ts"

/** A budget with its use in the present period; amounts are micro-USD and tokens. */
export type BudgetUse = (typeof BudgetReport.Encoded)["items"][number]

const encode = Schema.encodeSync(BudgetReport)

export class BudgetsClient extends ApiPart {
  /** Returns the budgets of a key or an agent with their use; without either, those of the tenant. */
  async get({ signal, ...query }: CallOptions & { readonly key?: string; readonly agent?: string } = {}): Promise<
    ReadonlyArray<BudgetUse>
  > {
    const report = await run(
      this.connection.repeatable.budgets.get({ query: withoutUndefined(query) }),
      withoutUndefined({ signal }),
    )
    return encode(report).items
  }

  /** Replaces the budgets of the tenant; for administrators. */
  async replace(budgets: ReadonlyArray<Budget>, options?: CallOptions): Promise<ReadonlyArray<BudgetUse>> {
    return encode(await run(this.connection.api.budgets.put({ payload: { budgets } }), options)).items
  }
}
