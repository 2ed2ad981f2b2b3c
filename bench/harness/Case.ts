/** What a benchmark is, and what comes out of it. */
import type { Effect, Scope } from "effect"

export interface Bench {
  /** Acquires something that is released when the case has ended. */
  readonly use: <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Promise<A>
  /** Length of one round in seconds, and how many rounds there are. */
  readonly seconds: number
  readonly rounds: number
  /** `few` with `--quick`, else `many`. */
  readonly count: (many: number, few: number) => number
}

/** One subject of a case. Times are in milliseconds; each is the median of the rounds. */
export interface Measure {
  readonly subject: string
  readonly perSecond: number
  /** Processor time of the measured process for one unit. */
  readonly cpu: number
  /** Lowest and highest `cpu` of a round. */
  readonly spread: readonly [number, number]
  readonly p50: number
  readonly p99: number
}

/** A bound that is to be kept, and what was measured. */
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
  /** How it is asked for: `npm run bench -- <name>`. */
  readonly name: string
  readonly title: string
  /** Of what `cpu` is measured, such as "a job". */
  readonly unit: string
  readonly run: (bench: Bench) => Promise<Outcome>
}
