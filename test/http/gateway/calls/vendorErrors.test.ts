import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { BudgetExhausted } from "../../../../src/domain/access/budgets.ts"
import { callProblem } from "../../../../src/http/gateway/calls/vendorErrors.ts"
import { drawing } from "../../../services/routing/RouterFixture.ts"

const refusal = (members: Pick<BudgetExhausted, "isReserved"> & { readonly renewsAt?: number }) =>
  new BudgetExhausted({ owner: { kind: "key", id: "key" }, per: "hour", leftCost: 1, leftTokens: null, ...members })

it.effect("tells calls that find a budget reserved to retry after different delays", () =>
  Effect.gen(function* () {
    const refused = callProblem(refusal({ isReserved: true }))
    const delays = [yield* refused, yield* refused].map(({ retry_after_ms }) => retry_after_ms)
    assert.deepStrictEqual(delays, [1000, 2500])
    const { retry_after_ms } = yield* callProblem(refusal({ isReserved: false, renewsAt: 60_000 }))
    assert.strictEqual(retry_after_ms, 60_000)
  }).pipe(drawing(0, 0.75)),
)
