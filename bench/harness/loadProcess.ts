/** The load process: creates a load and runs its units in lanes until the round is over. */
import type { Command, Lap, Reply, Round, Work } from "./Load.ts"

const percentile = (sorted: Float64Array, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN

const run = async ({ unit }: Work, { lanes, seconds }: Round): Promise<Lap> => {
  const latencies: Array<number> = []
  const started = performance.now()
  const end = started + seconds * 1000
  const lane = async (number: number) => {
    for (let begun = started; begun < end;) {
      const said = await unit(number)
      const now = performance.now()
      latencies.push(said ?? now - begun)
      begun = now
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
  const sorted = Float64Array.from(latencies).sort()
  return {
    units: latencies.length,
    ms: performance.now() - started,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
  }
}

let work: Work | undefined

const obey = async (command: Command): Promise<Reply> => {
  if (command.type === "make") {
    // Every module in bench/loads/ exports this.
    const { make } = (await import(command.module)) as { readonly make: (options: object) => Promise<Work> }
    work = await make(command.options)
    return {}
  }
  if (work === undefined) throw new Error("there is no load yet")
  if (command.type === "run") return { lap: await run(work, command) }
  await work.prepare?.(command)
  return {}
}

process.on("message", (command: Command) => {
  obey(command).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ error: error instanceof Error ? String(error.stack) : String(error) }),
  )
})
process.on("disconnect", () => process.exit())
