/** Answers that have to fit the `output_schema` of their job. */
import type { ResponseFormat } from "../../../../domain/chat/chat.ts"
import { isObject } from "../../../../domain/json/json.ts"
import { type JsonSchema, misfits } from "../../../../domain/json/jsonSchema.ts"
import { makeProblem, type ProblemIssue } from "../../../../domain/problems/problem.ts"
import { JobFailure } from "../../JobProgram.ts"
import { isEcho, type ModelAnswer } from "../engine/ModelAnswer.ts"
import { jsonIn, MAX_JSON_CHARS, onlyOf } from "../engine/jsonIn.ts"
import { REPAIR, shape } from "../engine/prompts.ts"

/** Keywords that all providers with schemas accept. The others are checked here, and the prompt has them. */
const SENT: ReadonlySet<string> = new Set(
  "type enum const properties required additionalProperties items title description".split(" "),
)

const sentOf = (schema: unknown): Readonly<Record<string, unknown>> => {
  const sent: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(isObject(schema) ? schema : {})) {
    if (name === "items") sent[name] = sentOf(value)
    else if (name === "properties" && isObject(value)) {
      sent[name] = Object.fromEntries(Object.entries(value).map(([member, part]) => [member, sentOf(part)]))
    } else if (SENT.has(name)) sent[name] = value
  }
  return sent
}

/** Whether every object has exactly the members that it requires, as OpenAI's strict schemas need. */
const isStrict = ({ additionalProperties, items, properties, required }: JsonSchema): boolean => {
  if (isObject(items) && !isStrict(items)) return false
  if (properties === undefined) return additionalProperties === undefined || additionalProperties === false
  if (!isObject(properties) || !Array.isArray(required) || additionalProperties !== false) return false
  return Object.entries(properties).every(([name, part]) => required.includes(name) && isObject(part) && isStrict(part))
}

/** The schema as an instruction in words, and as a response format. */
export const formOf = (schema: JsonSchema): { readonly instruction: string; readonly format: ResponseFormat } => ({
  instruction: shape(schema),
  format: {
    type: "json_schema",
    json_schema: { name: "output", strict: isStrict(schema), schema: sentOf(schema) },
  },
})

type Read = { readonly output: Readonly<Record<string, unknown>> } | { readonly mistakes: ReadonlyArray<ProblemIssue> }

/** The output in an answer, or why there is none. */
export const outputIn = (schema: JsonSchema, answer: ModelAnswer): Read => {
  const found = isEcho(answer)
    ? []
    : jsonIn(answer.text).flatMap((value) =>
        value === undefined ? [] : [{ value, mistakes: misfits(schema, value, "output") }],
      )
  const [first] = found
  if (first === undefined) return { mistakes: [{ path: "output", message: "is not a JSON object" }] }
  const fitting = found.filter(({ mistakes }) => mistakes.length === 0)
  if (fitting.length === 0) return { mistakes: first.mistakes }
  const output = onlyOf(fitting.map(({ value }) => value))
  return output === undefined
    ? { mistakes: [{ path: "output", message: "is given several times, with different values" }] }
    : { output }
}

/** Whether asking again can help. An overlong answer is not sent again. */
export const isRepairable = (answer: ModelAnswer): boolean => !isEcho(answer) && answer.text.length <= MAX_JSON_CHARS

const MAX_NAMED = 8

const named = (mistakes: ReadonlyArray<ProblemIssue>): string =>
  mistakes
    .slice(0, MAX_NAMED)
    .map(({ message, path }) => `${path} ${message}`)
    .join("; ")

/** Message after an answer that does not fit the schema. */
export const repairing = (mistakes: ReadonlyArray<ProblemIssue>): string => `${REPAIR}\n${named(mistakes)}`

export const outputMisfit = (mistakes: ReadonlyArray<ProblemIssue>): JobFailure =>
  new JobFailure({
    problem: makeProblem({
      code: "output-misfit",
      status: 422,
      title: "The model gave no output that fits.",
      detail:
        `The answer does not fit output_schema: ${named(mistakes)}. Simplify the schema, or choose a stronger model.`.toWellFormed(),
      retryable: false,
    }),
  })
