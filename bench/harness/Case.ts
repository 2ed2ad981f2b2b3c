import type { Effect, Scope } from "effect"

export interface Bench {
  /** Acquires a resource that is released when the case ends. */
  readonly use: <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Promise<A>
  /** Length of one round in seconds, and number of rounds. */
  readonly seconds: number
  readonly rounds: number
  /** `few` with `--quick`, else `many`. */
  readonly count: (many: number, few: number) => number
}

/** One subject of a case. Times are medians over the rounds, in milliseconds. */
export interface Measure {
  readonly subject: string
  readonly perSecond: number
  /** CPU time of the measured process per unit. */
  readonly cpu: number
  /** Lowest and highest `cpu` of a round. */
  readonly spread: readonly [number, number]
  readonly p50: number
  readonly p99: number
}

/** A measured value and its target, if any. */
export interface Figure {
  readonly what: string
  readonly unit: string
  readonly value: number
  readonly atMost?: number
  readonly atLeast?: number
}

export interface Outcome {
  readonly measures?: ReadonlyArray<Measure>
  readonly figures: ReadonlyArray<Figure>
}

export interface Case {
  /** The argument of `npm run bench -- <name>`. */
  readonly name: string
  readonly title: string
  /** The unit of `cpu`, such as "a job". */
  readonly unit: string
  readonly run: (bench: Bench) => Promise<Outcome>
}
