/** Compares subjects in alternating rounds, A B C A B C …, because the speed of a shared machine drifts. */
import type { Bench, Measure } from "./Case.ts"
import type { Lap, Load } from "./Load.ts"
import { cpuOf } from "./processTimes.ts"

export interface Subject {
  readonly subject: string
  readonly load: Load
  /** The process whose CPU time is measured. */
  readonly pid: number
}

export interface Compared {
  readonly measures: ReadonlyArray<Measure>
  /** Returns the median ratio of `of` between two subjects, over neighbouring rounds. */
  readonly ratio: (subject: string, to: string, of: "cpu" | "perSecond" | "p99") => number
  readonly measure: (subject: string) => Measure
}

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

interface Result extends Lap {
  readonly cpu: number
  readonly perSecond: number
}

const measureRound = async ({ load, pid }: Subject, seconds: number, lanes: number): Promise<Result> => {
  await load.prepare({ seconds, lanes })
  const before = cpuOf(pid)
  const lap = await load.run({ seconds, lanes })
  return { ...lap, cpu: (cpuOf(pid) - before) / lap.units, perSecond: (lap.units * 1000) / lap.ms }
}

/** Completions before measuring, so that every subject has compiled its hot code, slow ones included. */
export const COMPILED = 5000

/** Lets each subject serve this many units before the first round. */
export const warm = async (
  { seconds }: Bench,
  lanes: number,
  subjects: ReadonlyArray<Subject>,
  units: number,
): Promise<void> => {
  for (const subject of subjects) {
    for (let served = 0; served < units;) served += (await measureRound(subject, seconds, lanes)).units
  }
}

export const compare = async (
  { rounds, seconds }: Bench,
  lanes: number,
  subjects: ReadonlyArray<Subject>,
): Promise<Compared> => {
  const results = new Map<string, Array<Result>>(subjects.map(({ subject }) => [subject, []]))
  const of = (subject: string): ReadonlyArray<Result> => results.get(subject) ?? []
  // The first run is slow because nothing is compiled yet.
  for (let warm = 0; warm < rounds; warm += 2) {
    for (const subject of subjects) await measureRound(subject, seconds, lanes)
  }
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) {
      results.get(subject.subject)?.push(await measureRound(subject, seconds, lanes))
    }
  }
  const measure = (subject: string): Measure => {
    const rounds = of(subject)
    const cpus = rounds.map(({ cpu }) => cpu)
    return {
      subject,
      perSecond: median(rounds.map(({ perSecond }) => perSecond)),
      cpu: median(cpus),
      spread: [Math.min(...cpus), Math.max(...cpus)],
      p50: median(rounds.map(({ p50 }) => p50)),
      p99: median(rounds.map(({ p99 }) => p99)),
    }
  }
  return {
    measures: subjects.map(({ subject }) => measure(subject)),
    measure,
    ratio: (subject, to, what) =>
      median(of(subject).map((round, i) => round[what] / (of(to)[i]?.[what] ?? Number.NaN))),
  }
}
