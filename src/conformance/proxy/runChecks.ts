/** Runs all checks against a server, in bounded time. */
import { Duration, Effect } from "effect"
import { NotIJson } from "../../domain/json/iJson.ts"
import { reportOf, type Result, type TestReport } from "../report.ts"
import type { Check } from "./Check.ts"
import { Skipped, Violation } from "./outcome.ts"
import { Probe, type ProxyAddress } from "./Probe.ts"
import { NoResponse } from "./Wire.ts"

const CHECK_LIMIT = Duration.seconds(90)
const CONCURRENCY = 4

interface Checking {
  readonly limit: Duration.Duration
  readonly onResult?: (result: Result, done: number, all: number) => void
}

const outcomeOf = (error: unknown): Pick<Result, "outcome" | "saw"> => {
  if (error instanceof Skipped) return { outcome: "skipped", saw: error.message }
  if (error instanceof NotIJson) return { outcome: "fail", saw: `what came is no I-JSON: ${error.message}` }
  if (error instanceof Violation || error instanceof NoResponse) return { outcome: "fail", saw: error.message }
  return {
    outcome: "fail",
    saw: `the check itself failed: ${error instanceof Error ? error.message : String(error)}`,
  }
}

const runOne = (probe: Probe, { must, name, run, says }: Check) =>
  Effect.tryPromise({ try: () => run(probe), catch: outcomeOf }).pipe(
    Effect.map((saw) => ({ outcome: "pass" as const, saw })),
    Effect.catch((outcome) => Effect.succeed(outcome)),
    Effect.timeoutOrElse({
      duration: CHECK_LIMIT,
      orElse: () =>
        Effect.succeed({
          outcome: "fail" as const,
          saw: `it did not come to an end within ${Duration.format(CHECK_LIMIT)}`,
        }),
    }),
    Effect.map((outcome): Result => ({ must, name, says, ...outcome })),
  )

/** Marks a check as skipped if it failed with the same message as an earlier one: both have one cause. */
const causesOnce = (results: ReadonlyArray<Result>): ReadonlyArray<Result> => {
  const first = new Map<string, string>()
  return results.map((result) => {
    if (result.outcome !== "fail") return result
    const cause = first.get(result.saw)
    if (cause === undefined) {
      first.set(result.saw, result.name)
      return result
    }
    return { ...result, outcome: "skipped", saw: `it fails as ${cause} does` }
  })
}

/** Runs `checks` against a server. Skips those for which no time remains. */
export const runChecks = Effect.fnUntraced(function* (
  target: ProxyAddress,
  checks: ReadonlyArray<Check>,
  { limit, onResult }: Checking,
) {
  const probe = new Probe(target)
  const results = new Map<string, Result>()
  const tell = (result: Result) => {
    results.set(result.name, result)
    onResult?.(result, results.size, checks.length)
  }
  yield* Effect.forEach(checks, (each) => Effect.map(runOne(probe, each), tell), {
    concurrency: CONCURRENCY,
    discard: true,
  }).pipe(Effect.timeoutOption(limit))
  const late = (each: Check): Result => ({
    must: each.must,
    name: each.name,
    says: each.says,
    outcome: "skipped",
    saw: `there was no time left: all checks together may take ${Duration.format(limit)}`,
  })
  const report: TestReport = reportOf("proxy", causesOnce(checks.map((each) => results.get(each.name) ?? late(each))))
  return report
})
