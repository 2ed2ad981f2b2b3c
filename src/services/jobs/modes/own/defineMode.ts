/** The interface with which an embedding program defines modes of its own. */
import { type Duration, type Effect, type Option, Schema } from "effect"
import type { Agent, Metadata, TenantId } from "../../../../domain/jobs/agent.ts"
import type { JobId, JobTask } from "../../../../domain/jobs/job.ts"
import { isBuiltIn, type JobOptions, Mode } from "../../../../domain/jobs/modes.ts"
import type { OwnResult } from "../../../../domain/jobs/modes/own.ts"
import type { ModelRole } from "../../../../domain/routing/routing.ts"
import type { ToolInput, ToolOutput } from "../../../tools/ToolOutput.ts"
import type { JobFailure } from "../../JobProgram.ts"
import type { Decision, ExaminerQuestion, ProposerQuestion } from "../engine/Asking.ts"
import type { Kit } from "../engine/conversation.ts"
import type { ModelAnswer } from "../engine/ModelAnswer.ts"

interface PersonQuestion<A, I> {
  readonly question: string
  /** A struct of plain types: its JSON Schema may not use patterns or references. Numbers are `Schema.Finite` or `Schema.Int`. */
  readonly answer: Schema.Codec<A, I>
  /** How long to wait for the answer; a day by default. */
  readonly timeout?: Duration.Input
}

/**
 * A job, for the program of a mode. After a crash, a retry or a wait, the program runs again from its beginning, and its
 * finished steps return their stored outcomes, so everything between steps must give the same result each time.
 *
 * Every function below is a step. Its `name` is unique within the job: lower-case letters, digits and hyphens.
 * Steps may run in parallel. Model calls keep the limits, policies and budgets of agent and caller.
 */
export interface OwnJob {
  readonly id: JobId
  readonly tenant: TenantId
  /** As it was when the job was enqueued. */
  readonly agent: Agent
  /** In a thread, with the conversation before it. */
  readonly task: JobTask
  readonly options: JobOptions
  readonly metadata: Metadata
  /** From 1; grows with retries after failures. */
  readonly attempt: number
  /** Runs `effect` and stores its value. It runs again only if it failed, or if a crash came before its value was stored. */
  readonly step: <A, I, E>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Asks the agent's model about the task for text. The job's followers get it while it is written. */
  readonly propose: (name: string, question?: ProposerQuestion) => Effect.Effect<ModelAnswer, JobFailure>
  /** Asks the agent's model for a value. Calls it once more if the answer does not decode. */
  readonly respond: <A, I>(
    name: string,
    schema: Schema.Codec<A, I>,
    question?: ProposerQuestion,
  ) => Effect.Effect<Decision<A>, JobFailure>
  /** Asks an examiner for text. It sees the task and `sections` as quoted data. */
  readonly examine: (name: string, question: ExaminerQuestion) => Effect.Effect<ModelAnswer, JobFailure>
  /** Asks an examiner for a value. Calls it once more if the answer does not decode. */
  readonly decide: <A, I>(
    name: string,
    schema: Schema.Codec<A, I>,
    question: ExaminerQuestion,
  ) => Effect.Effect<Decision<A>, JobFailure>
  /** The agent's tools, as the `kit` with which a question lets the model call them. Not a step. */
  readonly tools: (turns: number) => Effect.Effect<Kit, JobFailure>
  /** Calls a tool of the agent. The call of a broken tool succeeds, with `is_error`. */
  readonly tool: (name: string, tool: string, input: ToolInput) => Effect.Effect<ToolOutput, JobFailure>
  /**
   * Asks a person; `None` if nobody answered in time. Meanwhile the job leaves its worker, and parallel steps are
   * interrupted.
   */
  readonly ask: <A, I>(name: string, question: PersonQuestion<A, I>) => Effect.Effect<Option.Option<A>>
  /** Waits. The whole job leaves its worker meanwhile, after the steps that run in parallel. */
  readonly waitFor: (name: string, time: Duration.Input) => Effect.Effect<void>
  /** Fails the job or, if `retryable`, this attempt. Its owner sees `detail`. Not a step. */
  readonly fail: (why: { readonly detail: string; readonly retryable?: boolean }) => Effect.Effect<never, JobFailure>
}

export interface OwnMode {
  /** As callers write it. */
  readonly name: string
  /**
   * The most model calls of a job, by role, for its cost bound; `respond` and `decide` may call twice, and a `kit` as often as its turns. Without it, the bound
   * follows the agent's `max_calls`, and is absent if there is none.
   */
  readonly maxCalls?: Partial<Readonly<Record<ModelRole, number>>>
  /** Answer and `output` together have at most 256 KiB. A defect fails the job after one more attempt. */
  readonly run: (job: OwnJob) => Effect.Effect<Pick<OwnResult, "answer" | "output" | "note">, JobFailure>
}

const isMode = Schema.is(Mode)

/**
 * Defines a mode. Throws if the name cannot be one.
 *
 * @example
 * const echo = defineMode({
 *   name: "echo",
 *   maxCalls: { proposer: 1 },
 *   run: (job) => Effect.map(job.propose("draft"), ({ text }) => ({ answer: text })),
 * })
 * await Gateway.start({ modes: [echo] })
 */
export const defineMode = (mode: OwnMode): OwnMode => {
  if (isMode(mode.name) && !isBuiltIn(mode.name) && mode.name !== "own") return mode
  throw new Error(
    `A mode cannot be named ${JSON.stringify(mode.name)}: use up to 32 lower-case letters, digits and hyphens, beginning with a letter, and no name of a built-in mode.`,
  )
}
