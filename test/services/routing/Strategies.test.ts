import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import type { Strategy, Target } from "../../../src/domain/routing/routing.ts"
import { ENOUGH_MEASUREMENTS, FirstTokenTimes } from "../../../src/services/routing/FirstTokenTimes.ts"
import { orderBy, type TargetCandidate } from "../../../src/services/routing/Strategies.ts"
import { drawing, target } from "./RouterFixture.ts"

interface Traits extends Partial<Pick<Target, "weight" | "quality">> {
  readonly estimate?: number | null
  readonly firstTokenMs?: number
}

const candidates = (traits: Readonly<Record<string, Traits>>): ReadonlyArray<TargetCandidate> =>
  Object.entries(traits).map(([model, { estimate = null, firstTokenMs, ...members }]) => ({
    target: target(`provider1/${model}`, members),
    estimate,
    firstTokenMs,
  }))

const order = (strategy: Strategy, traits: Readonly<Record<string, Traits>>) =>
  Effect.map(orderBy(strategy)(candidates(traits)), (ordered) => ordered.map((candidate) => candidate.target.model))

describe("orderBy", () => {
  it.effect("cost: the cheapest first, equals as configured, without a price last", () =>
    Effect.gen(function* () {
      const traits = { unpriced: {}, dear: { estimate: 9 }, cheap: { estimate: 1 }, same: { estimate: 1 } }
      assert.deepStrictEqual(yield* order("cost", traits), ["cheap", "same", "dear", "unpriced"])
      assert.deepStrictEqual(yield* order("cascade", traits), ["cheap", "same", "dear", "unpriced"])
    }),
  )

  it.effect("quality: the best first, the cheaper of equals before the dearer", () =>
    Effect.gen(function* () {
      const traits = {
        low: { quality: 0.1, estimate: 0 },
        dear: { quality: 0.9, estimate: 9 },
        cheap: { quality: 0.9, estimate: 1 },
        unknown: { estimate: 0 },
      }
      assert.deepStrictEqual(yield* order("quality", traits), ["cheap", "dear", "low", "unknown"])
    }),
  )

  it.effect("fallback: as configured", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* order("fallback", { b: { estimate: 2 }, a: { estimate: 1 } }), ["b", "a"])
    }),
  )

  it.effect("weighted: draws the first target in proportion to the weights (default 1), never one of weight 0", () =>
    Effect.gen(function* () {
      const traits = { none: { weight: 0 }, one: {}, three: { weight: 3 } }
      const draws = 4000
      const orders = yield* Effect.all(Array.from({ length: draws }, () => order("weighted", traits)))
      const share = orders.filter(([first]) => first === "three").length / draws
      // Four standard deviations of a share of 0.75 in 4,000 draws are 0.027.
      assert.closeTo(share, 0.75, 0.03)
      assert.isTrue(orders.every((models) => models.length === 3 && models[2] === "none"))
    }).pipe(Random.withSeed("weights")),
  )

  it.effect("latency: the fastest first, after targets without enough measurements", () =>
    Effect.gen(function* () {
      const traits = { slow: { firstTokenMs: 900 }, fast: { firstTokenMs: 100 } }
      assert.deepStrictEqual(yield* order("latency", traits).pipe(drawing(0.1)), ["fast", "slow"])
      assert.deepStrictEqual(yield* order("latency", { ...traits, fresh: {} }).pipe(drawing(0)), [
        "fresh",
        "fast",
        "slow",
      ])
    }),
  )

  it.effect("latency: sometimes puts another target first, and keeps the rest in order", () =>
    Effect.gen(function* () {
      const traits = { slow: { firstTokenMs: 900 }, fast: { firstTokenMs: 100 }, middle: { firstTokenMs: 500 } }
      assert.deepStrictEqual(yield* order("latency", traits).pipe(drawing(0.099, 0.99)), ["slow", "fast", "middle"])
      assert.deepStrictEqual(yield* order("latency", traits).pipe(drawing(0.099, 0)), ["middle", "fast", "slow"])
      assert.deepStrictEqual(yield* order("latency", traits).pipe(drawing(0.1)), ["fast", "middle", "slow"])
      const orders = yield* Effect.all(Array.from({ length: 2000 }, () => order("latency", traits)))
      const share = orders.filter(([first]) => first !== "fast").length / orders.length
      // Four standard deviations of a share of 0.1 in 2,000 draws are 0.027.
      assert.closeTo(share, 0.1, 0.03)
    }).pipe(Random.withSeed("exploration")),
  )
})

describe("FirstTokenTimes", () => {
  const name = { provider: "provider1", model: "m" } as const
  const MINUTE = 60_000

  it("has a median of the last measurements once there are enough", () => {
    const times = new FirstTokenTimes()
    for (let i = 1; i < ENOUGH_MEASUREMENTS; i++) times.add(name, 100, 0)
    assert.isUndefined(times.median(name, 0))
    times.add(name, 300, 0)
    assert.strictEqual(times.median(name, 0), 100)
    for (let i = 0; i < 20; i++) times.add(name, 700, 0)
    assert.strictEqual(times.median(name, 0), 700)
    assert.isUndefined(times.median({ ...name, model: "other" }, 0))
  })

  it("uses only the last 31 measurements", () => {
    const times = new FirstTokenTimes()
    for (const ms of [5, 1, 4, 2, 3]) times.add(name, ms, 0)
    assert.strictEqual(times.median(name, 0), 3)
    for (let i = 0; i < 31; i++) times.add(name, 700, 0)
    for (let i = 0; i < 15; i++) times.add(name, 100, 0)
    assert.strictEqual(times.median(name, 0), 700)
    times.add(name, 100, 0)
    assert.strictEqual(times.median(name, 0), 100)
  })

  it("forgets old measurements, so a recovered target is tried again", () => {
    const times = new FirstTokenTimes()
    for (let i = 0; i < ENOUGH_MEASUREMENTS; i++) times.add(name, Infinity, 0)
    assert.strictEqual(times.median(name, 15 * MINUTE), Infinity)
    assert.isUndefined(times.median(name, 15 * MINUTE + 1))
  })
})
