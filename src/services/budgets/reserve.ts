/**
 * Reserves the worst cases of calls. Calls that are ready at the same time share a statement, which takes all of them or
 * none; if it takes none, those that do not fit are refused, and the others try again.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { BudgetExhausted, renewalOf } from "../../domain/access/budgets.ts"
import { MAX_SUM, sumOf } from "../../domain/routing/money.ts"
import { makeBatched } from "../batched.ts"
import { databaseTime } from "../databaseTime.ts"
import { type Columns, givenItems, givenRows } from "../storedRows.ts"
import type { Pending } from "../routing/Accounting.ts"
import { makeReadUse, USE_COLUMNS, type Used } from "./budgetUse.ts"
import { type Amount, costLimit, type Limit, tokensLimit, type Use, useKey } from "./limits.ts"

/** The worst case of a call, which all of its limits must have room for. */
export interface Reservation {
  /** With a known id, the amount is added to that reservation. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly worst: Amount
  readonly limits: ReadonlyArray<Limit>
  readonly asked: Pending
}

type ReserveResult = BudgetExhausted | null

/** Returns a function that reserves, or returns the reason why not. `lease` in milliseconds. */
export const makeReserve = Effect.fnUntraced(function* (holder: string, lease: number) {
  const sql = yield* SqlClient.SqlClient
  const take = makeTake(sql, holder, lease)
  const readUse = makeReadUse(sql)

  const reserveAll = (
    reservations: ReadonlyArray<Reservation>,
  ): Effect.Effect<ReadonlyArray<ReserveResult>, SqlError.SqlError> =>
    Effect.gen(function* () {
      if (yield* take(reservations)) return reservations.map(() => null)
      const usedIn = yield* readUse(reservations.flatMap(({ limits }) => limits))
      const refusals = refusalsOf(reservations, usedIn)
      const fitting = reservations.filter((_, index) => refusals[index] === null)
      if (fitting.length === 0) return refusals
      // Each fits alone: room became free meanwhile, or their limits of one budget differ.
      const isAgain = fitting.length === reservations.length && fitting.length > 1
      const answers = isAgain
        ? (yield* Effect.forEach(fitting, (each) => reserveAll([each]))).flat()
        : yield* reserveAll(fitting)
      let next = 0
      return refusals.map((refusal) => refusal ?? answers[next++] ?? null)
    })

  return yield* makeBatched<Reservation, ReserveResult>({ run: reserveAll })
})

/** Returns a function that takes all of these reservations or none, and returns whether it did. */
const makeTake = (sql: SqlClient.SqlClient, holder: string, lease: number) => {
  const wanted = givenRows(sql, {
    ...USE_COLUMNS,
    cost: "BIGINT",
    tokens: "BIGINT",
    cost_limit: "BIGINT",
    tokens_limit: "BIGINT",
  })
  const made = givenItems(sql, COLUMNS)
  // Checks first, because each refusal by a constraint is an error for the database. The constraints of `room_*` decide
  // between concurrent reservations that all passed the check.
  const addUp = (rows: ReadonlyArray<Reservation>) => sql`
    INSERT INTO budget_use (owner, per, since, spent_cost, spent_tokens, reserved_cost, reserved_tokens, room_cost, room_tokens)
    SELECT owner, per, since, 0, 0, cost, tokens, cost_limit - cost, tokens_limit - tokens
    FROM ${wanted(wantedOf(rows))} WHERE NOT EXISTS (
      SELECT 1 FROM ${wanted(wantedOf(rows))} LEFT JOIN budget_use AS used
        ON used.owner = given.owner AND used.per = given.per AND used.since = given.since
      WHERE COALESCE(spent_cost + reserved_cost, 0) + cost > cost_limit
        OR COALESCE(spent_tokens + reserved_tokens, 0) + tokens > tokens_limit)
    ORDER BY owner, per, since
    ON CONFLICT (owner, per, since) DO UPDATE SET
      reserved_cost = budget_use.reserved_cost + excluded.reserved_cost,
      reserved_tokens = budget_use.reserved_tokens + excluded.reserved_tokens,
      room_cost = excluded.room_cost - budget_use.spent_cost - budget_use.reserved_cost,
      room_tokens = excluded.room_tokens - budget_use.spent_tokens - budget_use.reserved_tokens
    RETURNING owner`
  // Adds to a known reservation even if another process took it over, which ends it with the amount in the row.
  const enter = (rows: ReadonlyArray<Reservation>, which = sql`TRUE`) => sql`
    INSERT INTO budget_reservations (id, holder, until, at, cost, tokens, uses, asked)
    SELECT id, ${holder}, ${databaseTime(sql)} + ${lease}, at, cost, tokens, uses, asked FROM ${made(rows)} WHERE ${which}
    ON CONFLICT (id) DO UPDATE SET
      cost = budget_reservations.cost + excluded.cost, tokens = budget_reservations.tokens + excluded.tokens`

  const takeAll = (rows: ReadonlyArray<Reservation>): Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError> =>
    sql.onDialectOrElse({
      pg: () =>
        sql`WITH taken AS (${addUp(rows)}), entered AS (${enter(rows, sql`EXISTS (SELECT 1 FROM taken)`)})
          SELECT 1 FROM taken LIMIT 1`,
      orElse: () => {
        const enterTaken = (taken: ReadonlyArray<unknown>): Effect.Effect<unknown, SqlError.SqlError> =>
          taken.length === 0 ? Effect.void : enter(rows)
        return sql.withTransaction(Effect.tap(addUp(rows), enterTaken))
      },
    })

  return (rows: ReadonlyArray<Reservation>): Effect.Effect<boolean, SqlError.SqlError> =>
    Effect.catch(
      Effect.map(takeAll(rows), (taken) => taken.length > 0),
      (error) => (error.reason._tag === "ConstraintError" ? Effect.succeed(false) : Effect.fail(error)),
    )
}

/** The sum of several reservations in one row, and the lowest of their limits. */
interface Wanted extends Use, Amount {
  readonly cost_limit: number
  readonly tokens_limit: number
}

const wantedOf = (reservations: ReadonlyArray<Reservation>): ReadonlyArray<Wanted> => {
  const wanted = new Map<string, Wanted>()
  for (const { limits, worst } of reservations) {
    for (const limit of limits) {
      const key = useKey(limit)
      const { owner, per, since } = limit
      const before = wanted.get(key)
      wanted.set(key, {
        owner,
        per,
        since,
        cost: sumOf(before?.cost ?? 0, worst.cost),
        tokens: sumOf(before?.tokens ?? 0, worst.tokens),
        cost_limit: Math.min(before?.cost_limit ?? MAX_SUM, costLimit(limit)),
        tokens_limit: Math.min(before?.tokens_limit ?? MAX_SUM, tokensLimit(limit)),
      })
    }
  }
  return [...wanted.values()]
}

const COLUMNS: Columns<Reservation> = {
  id: ["TEXT", ({ id }) => id],
  at: ["BIGINT", ({ at }) => at],
  cost: ["BIGINT", ({ worst }) => worst.cost],
  tokens: ["BIGINT", ({ worst }) => worst.tokens],
  uses: ["TEXT", ({ limits }) => JSON.stringify(limits.map(({ owner, per, since }) => ({ owner, per, since })))],
  asked: ["TEXT", ({ asked }) => JSON.stringify(asked)],
}

/** Answers the reservations in order. Each one counts those before it that fit as taken. */
const refusalsOf = (
  reservations: ReadonlyArray<Reservation>,
  usedIn: (limit: Limit) => Used,
): ReadonlyArray<ReserveResult> => {
  const taken = new Map<string, Amount>()
  const unspentOf = (limit: Limit): Amount => {
    const { spent } = usedIn(limit)
    return { cost: costLimit(limit) - spent.cost, tokens: tokensLimit(limit) - spent.tokens }
  }
  const leftOf = (limit: Limit): Amount => {
    const unspent = unspentOf(limit)
    const { reserved } = usedIn(limit)
    const { cost, tokens } = taken.get(useKey(limit)) ?? { cost: 0, tokens: 0 }
    return { cost: unspent.cost - reserved.cost - cost, tokens: unspent.tokens - reserved.tokens - tokens }
  }
  return reservations.map(({ at, limits, worst }) => {
    const exceeds = (left: Amount) => worst.cost > left.cost || worst.tokens > left.tokens
    const spentUp = limits.find((limit) => exceeds(unspentOf(limit)))
    const full = spentUp ?? limits.find((limit) => exceeds(leftOf(limit)))
    if (full !== undefined) return exhausted(full, spentUp === undefined, { left: leftOf(full), worst, now: at })
    for (const limit of limits) {
      const { cost, tokens } = taken.get(useKey(limit)) ?? { cost: 0, tokens: 0 }
      taken.set(useKey(limit), { cost: cost + worst.cost, tokens: tokens + worst.tokens })
    }
    return null
  })
}

const exhausted = (
  limit: Limit,
  isReserved: boolean,
  { left, now, worst }: { readonly left: Amount; readonly worst: Amount; readonly now: number },
): BudgetExhausted => {
  const { budget, whose } = limit
  const everFits = worst.cost <= costLimit(limit) && worst.tokens <= tokensLimit(limit)
  const renewsAt = everFits && !isReserved ? renewalOf(budget.per, now) : undefined
  return new BudgetExhausted({
    owner: whose,
    per: budget.per,
    leftCost: budget.max_cost_micro_usd === undefined ? null : Math.max(0, left.cost),
    leftTokens: budget.max_tokens === undefined ? null : Math.max(0, left.tokens),
    isReserved,
    ...(renewsAt === undefined ? {} : { renewsAt }),
  })
}
