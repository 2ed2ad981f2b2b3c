/**
 * Budgets of keys. Before a call its worst case is added to every budget of the key in one statement, or to none;
 * afterwards the unused part is taken back. A reservation that a crash leaves behind counts as spent: its call may have
 * been paid for. So no crash, timeout or silent provider lets a key exceed a budget.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Budget, BudgetExhausted, renewalOf, startOf } from "../../domain/access/budgets.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { MAX_SUM } from "../../domain/routing/money.ts"
import { givenRows, unavailable } from "../storedRows.ts"

/** Whose budgets a call must fit. */
export interface Budgeted {
  /** The key's id. */
  readonly owner: string
  readonly budgets: ReadonlyArray<Budget>
}

/** `cost` in micro-USD. */
export interface Amount {
  readonly cost: number
  readonly tokens: number
}

export class Budgets extends Context.Service<
  Budgets,
  {
    /** Reserves `worst`, runs `call`, and settles at what `used` returns then, also if the call fails or is interrupted. */
    readonly within: <A, E>(
      budgeted: Budgeted,
      worst: Amount,
      call: Effect.Effect<A, E>,
      used: () => Amount,
    ) => Effect.Effect<A, E | BudgetExhausted | StorageUnavailable>
  }
>()("sealgate/services/routing/Budgets") {
  static readonly layer = Layer.effect(
    Budgets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const given = givenRows(sql, COLUMNS)
      const names = sql.literal(Object.keys(COLUMNS).join(", "))
      type Row = Parameters<typeof given>[0][number]

      const rowsOf = ({ budgets, owner }: Budgeted, { cost, tokens }: Amount, now: number) =>
        budgets.map(
          ({ max_cost_micro_usd = MAX_SUM, max_tokens = MAX_SUM, per }) =>
            ({
              owner,
              per,
              since: startOf(per, now),
              cost,
              tokens,
              cost_limit: max_cost_micro_usd,
              tokens_limit: max_tokens,
            }) satisfies Row,
        )

      /** Fails unless every budget took the amount; the transaction then leaves none changed. */
      const reserve = Effect.fnUntraced(
        function* (budgeted: Budgeted, worst: Amount, now: number) {
          const rows = rowsOf(budgeted, worst, now)
          const taken = yield* sql<{ per: string }>`INSERT INTO budget_use (${names})
          SELECT ${names} FROM ${given(rows)} WHERE cost <= cost_limit AND tokens <= tokens_limit ORDER BY per
          ON CONFLICT (owner, per, since) DO UPDATE SET
            cost = budget_use.cost + excluded.cost, tokens = budget_use.tokens + excluded.tokens,
            cost_limit = excluded.cost_limit, tokens_limit = excluded.tokens_limit
          WHERE budget_use.cost + excluded.cost <= excluded.cost_limit
            AND budget_use.tokens + excluded.tokens <= excluded.tokens_limit
          RETURNING per`
          const full = budgeted.budgets.find(({ per }) => !taken.some((row) => row.per === per))
          if (full === undefined) return
          const [use] = yield* sql<Amount>`SELECT cost, tokens FROM budget_use
          WHERE owner = ${budgeted.owner} AND per = ${full.per} AND since = ${startOf(full.per, now)}`
          const left = (limit: number | undefined, used = 0) => (limit === undefined ? null : Math.max(0, limit - used))
          const renewsAt = renewalOf(full.per, now)
          return yield* new BudgetExhausted({
            per: full.per,
            leftCost: left(full.max_cost_micro_usd, use?.cost),
            leftTokens: left(full.max_tokens, use?.tokens),
            ...(renewsAt === undefined ? {} : { renewsAt }),
          })
        },
        sql.withTransaction,
        unavailable,
      )

      const settle = (budgeted: Budgeted, worst: Amount, used: Amount, now: number) => {
        const change = { cost: used.cost - worst.cost, tokens: used.tokens - worst.tokens }
        return sql`UPDATE budget_use SET cost = budget_use.cost + given.cost, tokens = budget_use.tokens + given.tokens
          FROM ${given(rowsOf(budgeted, change, now))}
          WHERE budget_use.owner = given.owner AND budget_use.per = given.per AND budget_use.since = given.since`
      }

      return Budgets.of({
        within: (budgeted, worst, call, used) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              const now = yield* Clock.currentTimeMillis
              yield* reserve(budgeted, worst, now)
              return yield* Effect.ensuring(
                restore(call),
                // If the write fails, which is logged, the reservation stays: it counts as spent.
                Effect.suspend(() => Effect.ignore(unavailable(settle(budgeted, worst, used(), now)))),
              )
            }),
          ),
      })
    }),
  )
}

const COLUMNS = {
  owner: "TEXT",
  per: "TEXT",
  since: "BIGINT",
  cost: "BIGINT",
  tokens: "BIGINT",
  cost_limit: "BIGINT",
  tokens_limit: "BIGINT",
} as const
