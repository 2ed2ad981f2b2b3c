/** Evaluates real models over the router and the configured providers; a ledger in memory records their cost. */
import { readFileSync } from "node:fs"
import { Console, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Agent } from "../src/domain/jobs/agent.ts"
import { JobId } from "../src/domain/jobs/job.ts"
import type { JobOptions, JobResult, Mode } from "../src/domain/jobs/modes.ts"
import * as Database from "../src/layers/database/Database.ts"
import { Gateway } from "../src/layers/Gateway.ts"
import { layerUpstream, policyOf } from "../src/layers/Providers.ts"
import { JobProgram } from "../src/services/jobs/JobProgram.ts"
import type { Bin } from "../src/services/jobs/modes/engine/errorModel.ts"
import { MEASUREMENTS } from "../src/services/jobs/modes/engine/measurements.ts"
import * as Modes from "../src/services/jobs/modes/ModePrograms.ts"
import { Ledger } from "../src/services/routing/Ledger.ts"
import { Router } from "../src/services/routing/Router.ts"
import { RoutingConfig } from "../src/services/routing/RoutingConfig.ts"
import { layerLocalTools, startedCalculator } from "./calculator.ts"
import { jobContext } from "./harness.ts"
import { summarize, table } from "./report.ts"
import type { Outcome } from "./strategies.ts"
import { isRight } from "./World.ts"
import { writeMeasurements } from "./write.ts"

const Item = Schema.fromJsonString(Schema.Struct({ question: Schema.NonEmptyString, answer: Schema.NonEmptyString }))
type Item = typeof Item.Type

const layer = Layer.unwrap(
  Effect.map(Gateway.settings({ dev: true }), (settings) =>
    Modes.layer.pipe(
      Layer.provide(layerLocalTools),
      Layer.provideMerge(Router.layer),
      Layer.provideMerge(Layer.mergeAll(Ledger.layer, RoutingConfig.layer(policyOf(settings)))),
      Layer.provideMerge(Layer.merge(Database.layerSqlite({ filename: ":memory:" }), layerUpstream(settings))),
    ),
  ),
)

interface Judged {
  readonly judge: string
  readonly stated: number
  readonly right: boolean
}

type Tools = Pick<Agent, "mcp_servers">

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? ""
const taskOf = ({ question }: Item): string => `${question}\n\nGive the answer alone, without explanation.`

const STRATEGIES: ReadonlyArray<readonly [Mode, JobOptions]> = [
  ["verified", { effort: "low" }],
  ["verified", { effort: "medium" }],
  ["verified", { effort: "high" }],
  ["adversarial", { effort: "low" }],
  ["adversarial", { effort: "medium" }],
]

export const evaluateLive = Effect.fnUntraced(function* (file: string, count: number) {
  const items = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .slice(0, count)
    .map((line) => Schema.decodeSync(Item)(line))
  const judged: Array<Judged> = []

  const spentOn = (id: JobId) =>
    Effect.map(
      Ledger.use((ledger) => ledger.spent([id])),
      (spent) => spent(id),
    )

  const once = Effect.fnUntraced(function* (item: Item) {
    const job = JobId.make(SecureRandom.uuidV7Unsafe())
    const completion = { messages: [{ role: "user" as const, content: taskOf(item) }] }
    const { text } = yield* Router.use((router) =>
      router.call({ tenant: "evaluation", job, role: "proposer", completion }),
    )
    return outcomeOf(item, text, false, undefined, yield* spentOn(job))
  })

  const inMode = Effect.fnUntraced(function* (mode: Mode, options: JobOptions, item: Item, tools: Tools = {}) {
    const job = JobId.make(SecureRandom.uuidV7Unsafe())
    const result = yield* JobProgram.use(({ run }) =>
      run(jobContext({ mode, options, task: taskOf(item) }, job, tools)),
    )
    const right = isRight(lastLine(result.answer), { right: item.answer })
    judged.push(...judgedIn(result, right))
    const sure = result.verdict === "verified" || result.verdict === "upheld" || result.verdict === "revised"
    return outcomeOf(item, result.answer, sure, result.confidence ?? undefined, yield* spentOn(job))
  })

  yield* Effect.gen(function* () {
    const first = yield* Effect.forEach(items, once)
    const calculator = yield* startedCalculator
    const summaries = [summarize("first model, once", first)]
    for (const mode of ["direct", "verified"] as const) {
      const calculated = yield* Effect.forEach(items, (item) => inMode(mode, {}, item, calculator))
      summaries.push(summarize(`${mode}, with a calculator`, calculated))
    }
    for (const [mode, options] of STRATEGIES) {
      const outcomes = yield* Effect.forEach(items, (item) => inMode(mode, options, item))
      summaries.push(summarize(`${mode}, ${options.effort}`, outcomes))
    }
    yield* Console.log(`\n${file}: ${items.length} questions\n\n${table(summaries)}`)
  }).pipe(Effect.scoped, Effect.provide(layer))
  if (judged.length > 0) writeMeasurements({ ...MEASUREMENTS, judges: { ...MEASUREMENTS.judges, ...binsOf(judged) } })
})

const outcomeOf = (
  item: Item,
  answer: string,
  sure: boolean,
  confidence: number | undefined,
  spent: {
    readonly calls: number
    readonly input_tokens: number
    readonly output_tokens: number
    readonly cost: number
  },
): Outcome => ({
  right: isRight(lastLine(answer), { right: item.answer }),
  sure,
  confidence,
  calls: spent.calls,
  tokens: spent.input_tokens + spent.output_tokens,
  cost: spent.cost,
})

/** The judgement of a debate, if there is one, about an answer that is `right` or not. */
export const judgedIn = (result: JobResult, right: boolean): ReadonlyArray<Judged> => {
  if (result.mode !== "adversarial" || result.confidence === null || result.verdict === "inconclusive") return []
  const judge = result.participants.find(({ role }) => role === "judge")
  if (judge === undefined) return []
  const isRejected = result.verdict === "rejected"
  const stated = isRejected ? 1 - result.confidence : result.confidence
  return [{ judge: judge.model, stated, right: isRejected !== right }]
}

const BINS = [0.5, 0.7, 0.8, 0.9, 0.95, 1]

/** Counts how often each judge was right, by stated confidence. */
export const binsOf = (judged: ReadonlyArray<Judged>): Readonly<Record<string, ReadonlyArray<Bin>>> =>
  Object.fromEntries(
    [...Map.groupBy(judged, ({ judge }) => judge)].map(([judge, own]) => [
      judge,
      BINS.map((upTo, i) => {
        const bin = own.filter(({ stated }) => stated <= upTo && stated > (BINS[i - 1] ?? -1))
        return { upTo, right: bin.filter(({ right }) => right).length, total: bin.length }
      }),
    ]),
  )
