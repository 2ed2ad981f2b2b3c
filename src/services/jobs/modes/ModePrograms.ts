/** The programs of jobs, by mode, over the router and the ledger. */
import { Clock, Effect, Layer } from "effect"
import { RevealSecret } from "../../access/Secrets.ts"
import { Ledger } from "../../routing/Ledger.ts"
import { Tools } from "../../tools/Tools.ts"
import { ToolTenant } from "../../tools/ToolNetwork.ts"
import { Router } from "../../routing/Router.ts"
import { RoutingConfig } from "../../routing/RoutingConfig.ts"
import { type BuiltInMode, isBuiltIn, type Mode } from "../../../domain/jobs/modes.ts"
import { makeProblem } from "../../../domain/problems/problem.ts"
import { JobFailure, JobProgram } from "../JobProgram.ts"
import { LiveSteps } from "../LiveSteps.ts"
import { CostBound } from "../CostBound.ts"
import * as adversarial from "./adversarial/run.ts"
import * as direct from "./direct/run.ts"
import { makeAsking } from "./engine/Asking.ts"
import { highestCost } from "./engine/highestCost.ts"
import type { ModeProgram } from "./engine/ModeProgram.ts"
import { makeToolUse } from "./engine/toolUse.ts"
import { OwnModes } from "./own/OwnModes.ts"
import { programOf } from "./own/program.ts"
import * as verified from "./verified/run.ts"

const BUILT_IN: Readonly<Record<BuiltInMode, ModeProgram>> = { adversarial, verified, direct }

const makePrograms = Effect.map(OwnModes, (modes) => {
  const own = new Map([...modes].map(([name, mode]) => [name, programOf(mode)]))
  return (mode: Mode): ModeProgram | undefined => (isBuiltIn(mode) ? BUILT_IN[mode] : own.get(mode))
})

/** The mode's program was changed or removed. Another gateway may have it, or this one after its next start. */
const missing = (mode: Mode): JobFailure =>
  new JobFailure({
    problem: makeProblem({
      code: "mode-missing",
      status: 503,
      title: "The gateway no longer has the mode of this job.",
      detail: `Start a gateway with the mode ${mode}, then resume the job.`,
    }),
  })

export const layer: Layer.Layer<JobProgram, never, Router | Ledger> = Layer.effect(
  JobProgram,
  Effect.gen(function* () {
    const router = yield* Router
    const ledger = yield* Ledger
    const tools = yield* Tools
    const reveal = yield* RevealSecret
    const live = yield* LiveSteps
    const programs = yield* makePrograms
    return JobProgram.of({
      run: (context) => {
        const run = programs(context.mode)?.run(
          context,
          makeAsking(context, { router, ledger, live }),
          makeToolUse(context, { tools, live, reveal }),
        )
        return run === undefined
          ? Effect.fail(missing(context.mode))
          : Effect.provideService(run, ToolTenant, context.tenant)
      },
    })
  }),
)

/** Computes a job's cost bound from the routing in force when the job is enqueued. */
export const layerCostBound: Layer.Layer<never, never, RoutingConfig> = Layer.effect(
  CostBound,
  Effect.gen(function* () {
    const { ofCall } = yield* RoutingConfig
    const programs = yield* makePrograms
    return (job) =>
      Effect.map(Effect.all([ofCall, Clock.currentTimeMillis]), ([settings, now]) => {
        const calls = programs(job.mode)?.maxCalls(job)
        return calls === undefined ? null : highestCost(settings, job, calls, now)
      })
  }),
)
