/** Own modes as programs of jobs. */
import { Clock, Duration, Effect, Schema } from "effect"
import type { OwnResult } from "../../../../domain/jobs/modes/own.ts"
import { DEFAULT_INPUT_TIMEOUT_SECONDS, Question } from "../../../../domain/jobs/question.ts"
import type { Step } from "../../../../domain/jobs/step.ts"
import { makeProblem } from "../../../../domain/problems/problem.ts"
import { spanned } from "../../../spans.ts"
import { ToolOutput } from "../../../tools/ToolOutput.ts"
import { type JobContext, JobFailure } from "../../JobProgram.ts"
import { ModeMistake } from "../../ModeMistake.ts"
import type { Asking } from "../engine/Asking.ts"
import type { ModeProgram } from "../engine/ModeProgram.ts"
import type { Toolbox } from "../engine/toolUse.ts"
import type { OwnJob, OwnMode } from "./defineMode.ts"

const MAX_RESULT_BYTES = 256 * 1024

export const programOf = ({ maxCalls, name, run }: OwnMode): ModeProgram => ({
  maxCalls: ({ agent: { limits } }) => {
    const most = limits.max_calls
    const calls = maxCalls ?? (most === undefined ? undefined : { proposer: most, critic: most, judge: most })
    const none = { proposer: 0, critic: 0, judge: 0 }
    return calls && { perTier: none, besides: { ...none, ...calls } }
  },
  run: (context, asking, tools) =>
    Effect.gen(function* () {
      const { answer, note, output } = yield* run(yield* makeJob(context, asking, tools)).pipe(
        Effect.catchDefect((defect) =>
          defect instanceof ModeMistake ? failed({ detail: defect.message }) : Effect.die(defect),
        ),
      )
      const result: OwnResult = {
        mode: "own",
        name,
        answer,
        verdict: "unchecked",
        confidence: null,
        independent: false,
        ...(output !== undefined && { output }),
        ...(note !== undefined && { note }),
      }
      if (Buffer.byteLength(JSON.stringify(result)) <= MAX_RESULT_BYTES) return result
      return yield* failed({ detail: `The result has more than ${MAX_RESULT_BYTES} bytes.` })
    }).pipe(spanned("modes.own")),
})

const failed: OwnJob["fail"] = ({ detail, retryable = false }) =>
  Effect.fail(
    new JobFailure({
      problem: makeProblem({
        code: "mode-failed",
        status: 422,
        title: "The mode could not carry out the task.",
        detail: detail.toWellFormed(),
        retryable,
      }),
    }),
  )

/** Part of the names of events, which are bounded. */
const STEP_NAME = /^[a-z][a-z0-9-]{0,59}$/

const stepOf = (name: string): Step => {
  if (STEP_NAME.test(name)) return { kind: name }
  throw new ModeMistake("A step is named by up to 60 lower-case letters, digits and hyphens, and begins with a letter.")
}

const makeJob = Effect.fnUntraced(function* (context: JobContext, asking: Asking, tools: Toolbox) {
  const { agent, attempt, jobId, metadata, options, step, task, tenant, waitUntil } = context
  // Their listing is a step, which may begin only once.
  const offered = yield* Effect.cached(tools.offered)
  const job: OwnJob = {
    id: jobId,
    tenant,
    agent,
    task,
    options,
    metadata,
    attempt,
    step: (name, schema, effect) =>
      Effect.suspend(() =>
        step(
          stepOf(name),
          Schema.toCodecJson(schema),
          Effect.map(effect, (value) => ({ value })),
        ),
      ),
    propose: (name, question = {}) => Effect.suspend(() => asking.propose(stepOf(name), question)),
    respond: (name, schema, question = {}) => Effect.suspend(() => asking.respond(stepOf(name), schema, question)),
    examine: (name, question) => Effect.suspend(() => asking.examine(stepOf(name), question)),
    decide: (name, schema, question) => Effect.suspend(() => asking.decide(stepOf(name), schema, question)),
    tools: (turns) => Effect.map(offered, (all) => ({ tools: all, turns, call: tools.call })),
    tool: (name, tool, input) =>
      Effect.flatMap(offered, () => tools.use(stepOf(name), { name: tool, arguments: JSON.stringify(input) })),
    ask: (name, { answer, question, timeout = Duration.seconds(DEFAULT_INPUT_TIMEOUT_SECONDS) }) =>
      Effect.gen(function* () {
        const asking = stepOf(name)
        const { schema: answer_schema } = Schema.toJsonSchemaDocument(answer, { onExcessProperty: "error" })
        const asked = yield* Effect.catch(decodeQuestion({ question, answer_schema }), () => Effect.die(UNASKABLE))
        const timeoutSeconds = Math.ceil(Duration.toSeconds(timeout))
        const { is_error, text } = yield* step(asking, ToolOutput, context.ask({ ...asked, asking, timeoutSeconds }))
        if (is_error) return yield* Effect.succeedNone
        return yield* Effect.asSome(Effect.orDie(Schema.decodeEffect(Schema.fromJsonString(answer))(text)))
      }),
    waitFor: (name, time) =>
      Effect.suspend(() => {
        const end = Effect.map(Clock.currentTimeMillis, (now) => ({ value: now + Math.ceil(Duration.toMillis(time)) }))
        return Effect.flatMap(step(stepOf(name), Schema.Int, end), waitUntil)
      }),
    fail: failed,
  }
  return job
})

const UNASKABLE = new ModeMistake(
  "A question needs a text, and a struct of plain types as its answer; numbers are Schema.Finite or Schema.Int.",
)
const decodeQuestion = Schema.decodeUnknownEffect(Question)
