/**
 * The interface between durable jobs and the modes: what a worker hands to a mode, and what it expects back. After a
 * crash or a retry a program runs again from its beginning, and the outcomes of its finished steps are returned from
 * storage.
 */
import { Context, type Effect, Schema } from "effect"
import type { Agent, TenantId } from "../../domain/jobs/agent.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { type JobId, type JobTask, StepCall } from "../../domain/jobs/job.ts"
import type { JobOptions, JobResult, Mode } from "../../domain/jobs/modes.ts"
import { Problem } from "../../domain/problems/problem.ts"
import type { Step } from "../../domain/jobs/step.ts"

/**
 * Why a program could not finish. `problem.retryable` decides whether the job is tried again (bounded, with back-off)
 * or fails with this problem; `problem` reaches the caller, so it quotes neither keys nor internals.
 */
export class JobFailure extends Schema.TaggedError<JobFailure>()("JobFailure", {
  problem: Problem,
  /** Milliseconds after which another attempt may succeed, where the upstream said so. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** What the failed step called and cost, where that is known; kept with the step. */
  call: Schema.optionalKey(StepCall),
}) {
  override get message(): string {
    return this.problem.code
  }
}

/** What a step produced and, unless it called nobody, whom it called and what that cost. */
export interface StepOutcome<A> {
  readonly value: A
  readonly call?: StepCall | undefined
  /** What a sealed proxy signed of the answer. */
  readonly receipt?: KeptReceipt | undefined
}

export interface JobContext {
  readonly jobId: JobId
  readonly tenant: TenantId
  /** The agent as it was when the job was enqueued. */
  readonly agent: Agent
  readonly task: JobTask
  readonly mode: Mode
  readonly options: JobOptions
  /** From 1; grows with retries after a failure, not with crashes. */
  readonly attempt: number
  /** W3C trace id of the request that enqueued the job. */
  readonly traceId: string
  /**
   * Runs `effect` and stores its value before returning it. When the job resumes, a step that has finished returns its
   * stored value and does not run `effect` again; only a call in flight at a crash is made a second time.
   *
   * A step is unique within one run of the program and the same in every run: one that is begun twice is a defect. Steps may run in parallel. A failed step is recorded and runs again on the next attempt; an
   * interrupted one is not recorded.
   */
  readonly step: <A, I, E, R>(
    step: Step,
    schema: Schema.Codec<A, I>,
    effect: Effect.Effect<StepOutcome<A>, E, R>,
  ) => Effect.Effect<A, E, R>
}

/** What jobs do. The modes provide it; the runner calls it. */
export class JobProgram extends Context.Service<
  JobProgram,
  { readonly run: (context: JobContext) => Effect.Effect<JobResult, JobFailure> }
>()("sealgate/services/jobs/JobProgram") {}
