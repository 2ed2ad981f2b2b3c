/** Calls the chosen targets and enters every call in the ledger before the answer is returned. */
import { Cause, Effect, Exit, Option } from "effect"
import type { Budgeted } from "../../domain/access/budgets.ts"
import type { StepCall } from "../../domain/jobs/job.ts"
import type { Mode } from "../../domain/jobs/modes.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { Labels } from "../../domain/routing/labels.ts"
import type { RoutingSettings, Target } from "../../domain/routing/routing.ts"
import { failureCodes, ruleOf } from "../../domain/upstream/failures.ts"
import type { TargetName } from "../../domain/upstream/targets.ts"
import type { AskOptions, Attempt, UpstreamError } from "../../domain/upstream/upstream.ts"
import { ReserveMore } from "../budgets/CurrentReservation.ts"
import { type Account, type ChargedAttempt, recordsOf, stepCallOf } from "./Accounting.ts"
import type { CallRecord } from "./CallRecord.ts"
import type { Spending } from "./Spending.ts"
import type { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { makeRecordPaid } from "./recordPaid.ts"
import { CallFailed } from "./RoutingErrors.ts"
import type { TargetRequirements } from "./TargetChoice.ts"

/** A request to whichever target the routing chooses. `policy` is the agent's; `allowance` is the unused part of the job's limits. */
export interface RoutedRequest extends TargetRequirements {
  readonly tenant: string
  readonly job?: string | undefined
  readonly agent?: string | undefined
  readonly mode?: Mode | undefined
  readonly key?: string | undefined
  readonly labels?: Labels | undefined
  readonly budgeted?: ReadonlyArray<Budgeted> | undefined
  /** The authors of the answers to judge: the targets with the least in common with them come first. */
  readonly independentOf?: ReadonlyArray<TargetName> | undefined
  /** The target of the conversation so far. It comes first if it fits. */
  readonly preferred?: TargetName | undefined
  /** How often the answer was escalated. A cascade skips this many of its cheapest targets. */
  readonly tier?: number | undefined
  /** Runs before the first call, with the target of that call. */
  readonly onChosen?: ((target: TargetName) => Effect.Effect<void>) | undefined
  /** The call exists only because of the routing: its cost counts, but it has no baseline. */
  readonly extra?: boolean | undefined
}

/** The decisions of one request: the targets in their order, and what may be spent on them. */
export interface RequestRoute {
  readonly settings: RoutingSettings
  readonly request: RoutedRequest
  readonly targets: ReadonlyArray<Target>
  readonly escalateBelow: number | null
  readonly spending: Spending
  /** The calls so far, also those in other dialects. */
  readonly records: Array<CallRecord>
}

export interface RoutedCall<A> {
  readonly ask: (options: AskOptions) => Effect.Effect<A, UpstreamError>
  /** The members for the longest output that a target may still give; `undefined` if its context is too small. */
  readonly limitOf: (most: number | undefined, target: TargetName) => ReturnType<NonNullable<AskOptions["outputLimit"]>>
  /** Estimated tokens of the output so far. */
  readonly received: () => number
  /** Whether the calls are streamed, so that their times to first token are measured. */
  readonly isStreamed: boolean
}

export interface RecordedAnswer<A> {
  readonly value: A
  readonly served: ChargedAttempt
  readonly call: StepCall
}

/** Returns a function that calls the targets of a route in their order until one answers. */
export const makeCallAndRecord = Effect.fnUntraced(function* (times: FirstTokenTimes) {
  const recordPaid = yield* makeRecordPaid

  const account = ({ records, request, settings }: RequestRoute, attempts: ReadonlyArray<ChargedAttempt>) => {
    const made = recordsOf(settings, accountOf(request), attempts, records)
    records.push(...made)
    return Effect.as(recordPaid(made), stepCallOf(records))
  }

  /**
   * Enters the calls in the ledger, then returns the answer or fails as the call did. After an interruption, a failed
   * write is ignored.
   *
   * Defined once: V8 makes a long-lived hidden class for each generator function that runs, so one that is created per
   * call keeps its variables until the next full collection, 6 KB of each call.
   */
  const recorded = Effect.fnUntraced(function* <A>(
    route: RequestRoute,
    attempts: ReadonlyArray<ChargedAttempt>,
    exit: Exit.Exit<A, UpstreamError>,
  ) {
    if (Exit.isFailure(exit)) {
      const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      if (Cause.hasInterrupts(exit.cause)) yield* Effect.ignore(account(route, attempts))
      if (error === undefined || Cause.hasInterrupts(exit.cause)) {
        return yield* Effect.failCause(Cause.map(exit.cause, (error) => new CallFailed({ error })))
      }
      const call = yield* account(route, attempts)
      return yield* new CallFailed({ error, ...withoutUndefined({ call }) })
    }
    const call = yield* account(route, attempts)
    const served = attempts.at(-1)
    if (served === undefined || call === undefined) {
      return yield* Effect.die(new Error("The upstream answered without having called anybody."))
    }
    return { value: exit.value, served, call }
  })

  return <A>(
    route: RequestRoute,
    { ask, isStreamed, limitOf, received }: RoutedCall<A>,
  ): Effect.Effect<RecordedAnswer<A>, CallFailed | StorageUnavailable> => {
    const { request, spending, targets } = route
    const attempts: Array<ChargedAttempt> = []
    let charged = 0
    const answered = ask({
      targets: targets.map((target) => ({
        ...target,
        contextTokens: target.max_context_tokens,
        firstTokenMs: target.first_token_ms,
      })),
      own: request.own,
      ...(request.allowance !== undefined && {
        mayCallAgain: mayCallAgain(spending, targets),
        outputLimit: (target) => limitOf(spending.limitOf(targets, target), target),
      }),
      onAttempt: (attempt) => {
        const newTokens = received() - charged
        charged += newTokens
        attempts.push({ ...attempt, charged: spending.charge(attempt, newTokens) })
        if (isStreamed) noteFirstToken(times, attempt)
      },
    })
    // Uninterruptible from the end of the last call until the calls are in the ledger, because a cancelled job has
    // spent their cost.
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.exit(restore(answered)), (exit) => recorded(route, attempts, exit)),
    )
  }
})

export type CallAndRecord = Effect.Success<ReturnType<typeof makeCallAndRecord>>

/** Whether another call may be made. First reserves the cost of the calls so far again, if the budgets have room. */
export const mayCallAgain = Effect.fnUntraced(function* (spending: Spending, targets: ReadonlyArray<Target>) {
  const { missing } = spending
  if (missing.cost + missing.tokens > 0 && (yield* (yield* ReserveMore)(missing))) spending.addReserved(missing)
  return spending.mayCall(targets)
})

/** The columns of the ledger that a request's calls share. */
export const accountOf = (request: Omit<RoutedRequest, "api" | "size">): Account => ({
  tenant: request.tenant,
  role: request.role ?? null,
  job: request.job ?? null,
  agent: request.agent ?? null,
  key: request.key ?? null,
  labels: request.labels ?? {},
  mode: request.mode ?? null,
  extra: request.extra ?? false,
})

/** A failed call without output counts as infinitely slow, unless its request or a tenant's own account was at fault. */
const noteFirstToken = (times: FirstTokenTimes, attempt: Attempt): void => {
  const rule = ruleOf(attempt.outcome)
  const isTargetsFault = rule !== undefined && failureCodes[rule.code].aboutRequest !== true && attempt.ownKey !== true
  const ms = attempt.timeToFirstTokenMs ?? (isTargetsFault ? Infinity : undefined)
  if (ms !== undefined) times.add(attempt, ms, attempt.finishedAt)
}
