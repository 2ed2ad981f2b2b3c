/** Four models with recorded answers to GSM8K. Each half of the questions takes its measurements from the other half. */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { fit, type Pair } from "./fit.ts"
import type { Question, World } from "./World.ts"

const Answer = Schema.NullOr(Schema.Union([Schema.Finite, Schema.String]))
const Row = Schema.fromJsonString(
  Schema.Struct({
    question: Schema.Int,
    answer: Schema.Finite,
    "6b_finetuning": Answer,
    "6b_verification": Answer,
    "175b_finetuning": Answer,
    "175b_verification": Answer,
    calculations: Schema.Array(Schema.String),
  }),
)
type Row = typeof Row.Type

/** Largest first, as an operator would order them. */
const MODELS = ["175b_verification", "175b_finetuning", "6b_verification", "6b_finetuning"] as const
type Model = (typeof MODELS)[number]

const isRight = (row: Row, model: Model): boolean => row[model] === row.answer
const part = (rows: ReadonlyArray<Row>, holds: (row: Row) => boolean): number =>
  rows.filter(holds).length / Math.max(1, rows.length)

const measure = (rows: ReadonlyArray<Row>): Measurements => {
  const pairs = MODELS.flatMap((a, i) =>
    MODELS.slice(i + 1).map((b): Pair => {
      const wrong = rows.filter((row) => !isRight(row, a) && !isRight(row, b))
      return {
        models: [a, b],
        bothRight: part(rows, (row) => isRight(row, a) && isRight(row, b)),
        sameWrong: part(wrong, (row) => typeof row[a] === "number" && row[a] === row[b]),
      }
    }),
  )
  return fit(new Map(MODELS.map((model) => [model, part(rows, (row) => isRight(row, model))])), pairs)
}

/** The first `count` questions; both halves are measured on all of them. */
export const recorded = (count = Infinity): World => {
  const all = readFileSync(new URL("./data/gsm8k.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => Schema.decodeSync(Row)(line))
  const half = (row: Row) => row.question % 2
  const measured = [1, 0].map((other) => measure(all.filter((row) => half(row) === other)))
  const questions = all.slice(0, count).map((row): Question => {
    const known = measured[half(row)]
    if (known === undefined) throw new Error("A number is even or odd.")
    return {
      id: String(row.question),
      task: `Question ${row.question}`,
      right: String(row.answer),
      // Text, if the model gave no number.
      said: (model) => {
        const answer = Object.entries(row).find(([name]) => name === model)?.[1]
        return typeof answer === "number" ? String(answer) : ""
      },
      // The data begin with the smallest model.
      calculated: (model) => row.calculations.at(-1 - MODELS.findIndex((name) => name === model)) ?? "",
      measured: known,
    }
  })
  return { name: "recorded", models: MODELS, questions, resamples: false }
}
