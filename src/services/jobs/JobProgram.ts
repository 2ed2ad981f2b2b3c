/**
 * The interface between durable jobs and modes. A resumed program runs from its beginning, with the outcomes of
 * finished steps.
 */
import { Context, type Effect, Schema } from "effect"
import type { Agent, Metadata, TenantId } from "../../domain/jobs/agent.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { type JobId, type JobTask, StepCall } from "../../domain/jobs/job.ts"
import type { JobOptions, JobResult, Mode } from "../../domain/jobs/modes.ts"
import { Problem } from "../../domain/problems/problem.ts"
import type { Budgeted } from "../../domain/access/budgets.ts"
import type { Labels } from "../../domain/routing/labels.ts"
import type { TargetFilter } from "../../domain/upstream/targets.ts"
import type { Step } from "../../domain/jobs/step.ts"
import type { ToolUse } from "../../domain/jobs/tool.ts"
import type { AskedQuestion } from "./storedQuestion.ts"

/**
 * A program's failure. `problem.retryable` decides whether the job is retried (bounded, with back-off) or fails with
 * this problem. The caller sees `problem`, so it quotes neither keys nor internals.
 */
export class JobFailure extends Schema.TaggedError<JobFailure>()("JobFailure", {
  problem: Problem,
  /** Milliseconds after which a retry may succeed, if the upstream named a delay. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** When the exhausted budget renews, in milliseconds since the epoch. */
  renewsAt: Schema.optionalKey(Schema.Int),
  /** The call of the failed step and its cost, if known; stored with the step. */
  call: Schema.optionalKey(StepCall),
}) {
  override get message(): string {
    return this.problem.code
  }
}

/** The value of a step, and its call and cost if it made one. */
export interface StepOutcome<A> {
  readonly value: A
  readonly call?: StepCall | undefined
  /** The receipt of a sealed proxy for the answer. */
  readonly receipt?: KeptReceipt | undefined
  /** The tool call for the trail, if the step was one. */
  readonly tool?: ToolUse | undefined
}

export interface JobContext {
  readonly jobId: JobId
  readonly tenant: TenantId
  /** The agent as it was when the job was enqueued. */
  readonly agent: Agent
  readonly task: JobTask
  readonly mode: Mode
  readonly options: JobOptions
  readonly metadata: Metadata
  readonly key?: string | undefined
  readonly labels: Labels
  readonly budgeted: ReadonlyArray<Budgeted>
  /** The targets that the key of its caller permits; `undefined` permits all. */
  readonly models?: TargetFilter | undefined
  /** Counts from 1. Grows with retries after failures, not with crashes. */
  readonly attempt: number
  /**
   * Runs `effect` and stores its value before returning it. When the job resumes, a finished step returns its stored
   * value without running `effect`; only a call in flight at a crash is made a second time.
   *
   * A step has the same unique name in every run of the program; beginning it twice in one run is a defect. Steps may
   * run in parallel. A failed step is recorded and runs again on the next attempt. A step that is interrupted, or after
   * whose failure the job waits for a budget, is not recorded.
   */
  readonly step: <A, I, E, R>(
    step: Step,
    schema: Schema.Codec<A, I>,
    effect: Effect.Effect<StepOutcome<A>, E, R>,
  ) => Effect.Effect<A, E, R>
  /** Asks a person: the program is interrupted, and resumes with the answer as its step's outcome, a `ToolOutput`. */
  readonly ask: (question: AskedQuestion) => Effect.Effect<never>
  /**
   * Returns once it is `time`, in milliseconds since the epoch. Until then the whole job leaves its worker, after its
   * running steps, and the program is interrupted.
   */
  readonly waitUntil: (time: number) => Effect.Effect<void>
}

/** The program of jobs. The modes provide it; the runner calls it. */
export class JobProgram extends Context.Service<
  JobProgram,
  { readonly run: (context: JobContext) => Effect.Effect<JobResult, JobFailure> }
>()("sealgate/services/jobs/JobProgram") {}
