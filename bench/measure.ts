/** Measures in the same run and as ratios, because the speed of a shared machine drifts. */

/** Median milliseconds per call of `run`, over `rounds` rounds of `calls` calls. */
export type Run = (calls: number) => Promise<void> | void

const once = async (run: Run, calls: number): Promise<number> => {
  const started = performance.now()
  await run(calls)
  return (performance.now() - started) / calls
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

export interface Comparison {
  readonly name: string
  /** Milliseconds per call. */
  readonly subject: number
  readonly floor: number
  /** Median of the ratios of neighbouring rounds, which a slow machine changes less than the times themselves. */
  readonly ratio: number
}

/** Runs subject and floor in turn, A B A B …, after a round of each to warm up. */
export const compare = async (
  name: string,
  subject: Run,
  floor: Run,
  { calls = 1000, rounds = 7 }: { readonly calls?: number; readonly rounds?: number } = {},
): Promise<Comparison> => {
  await once(subject, calls)
  await once(floor, calls)
  const subjects: Array<number> = []
  const floors: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    subjects.push(await once(subject, calls))
    floors.push(await once(floor, calls))
  }
  const ratios = subjects.map((value, i) => value / (floors[i] ?? Number.NaN))
  return { name, subject: median(subjects), floor: median(floors), ratio: median(ratios) }
}

const micro = (milliseconds: number): string => `${(milliseconds * 1000).toFixed(1)} µs`.padStart(12)

export const report = (title: string, floor: string, comparisons: ReadonlyArray<Comparison>): void => {
  console.log(`\n${title}\n${"".padEnd(46)}${"here".padStart(12)}${floor.padStart(24)}${"ratio".padStart(9)}`)
  for (const { floor, name, ratio, subject } of comparisons) {
    console.log(`${name.padEnd(46)}${micro(subject)}${micro(floor).padStart(24)}${`${ratio.toFixed(2)}×`.padStart(9)}`)
  }
}
