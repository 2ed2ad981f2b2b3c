/** Orders of the fitting targets by strategy. Every order contains all targets: the next one serves if one fails. */
import { Effect, Random } from "effect"
import type { Strategy, Target } from "../../domain/routing/routing.ts"

export interface TargetCandidate {
  readonly target: Target
  /** Estimated cost of the request in micro-USD; `null` without a price. */
  readonly estimate: number | null
  /** Moving median of the time to first token in milliseconds; `undefined` without enough recent calls. */
  readonly firstTokenMs: number | undefined
}

/** How often `latency` tries a target other than the fastest, to notice changes. */
const EXPLORATION = 0.1

type Order = (candidates: ReadonlyArray<TargetCandidate>) => Effect.Effect<ReadonlyArray<TargetCandidate>>

/** Cheapest first; targets without a price last. */
const byCost = (candidates: ReadonlyArray<TargetCandidate>): ReadonlyArray<TargetCandidate> =>
  candidates.toSorted((a, b) => (a.estimate ?? Infinity) - (b.estimate ?? Infinity) || 0)

const quality = ({ target }: TargetCandidate): number => target.quality ?? 0

/** Targets without enough recent calls come first, because only calls can measure them; at times a random one does. */
const byLatency: Order = Effect.fnUntraced(function* (candidates) {
  const ranked = candidates.toSorted((a, b) => (a.firstTokenMs ?? -1) - (b.firstTokenMs ?? -1) || 0)
  const [first, ...others] = ranked
  if (first?.firstTokenMs === undefined || others.length === 0 || (yield* Random.next) >= EXPLORATION) return ranked
  const explored = others[yield* Random.nextIntBetween(0, others.length, { halfOpen: true })]
  return explored === undefined ? ranked : [explored, ...ranked.filter((candidate) => candidate !== explored)]
})

/** Draws by weight without replacement, 0 last: sorts by `-ln(u) / weight` (Efraimidis and Spirakis 2006). */
const byWeight: Order = Effect.fnUntraced(function* (candidates) {
  const drawn = yield* Effect.forEach(candidates, (candidate) =>
    Effect.map(Random.next, (u) => {
      const weight = candidate.target.weight ?? 1
      return { candidate, key: weight === 0 ? Infinity : -Math.log(1 - u) / weight }
    }),
  )
  return drawn.toSorted((a, b) => a.key - b.key || 0).map(({ candidate }) => candidate)
})

const orders: Readonly<Record<Strategy, Order>> = {
  cost: (candidates) => Effect.succeed(byCost(candidates)),
  cascade: (candidates) => Effect.succeed(byCost(candidates)),
  quality: (candidates) => Effect.succeed(byCost(candidates).toSorted((a, b) => quality(b) - quality(a))),
  fallback: Effect.succeed,
  latency: byLatency,
  weighted: byWeight,
}

export const orderBy = (strategy: Strategy): Order => orders[strategy]
