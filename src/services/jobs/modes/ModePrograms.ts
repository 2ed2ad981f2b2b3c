/** The programs of jobs, by mode, over the router and the ledger. */
import { Clock, Effect, Layer } from "effect"
import { Ledger } from "../../routing/Ledger.ts"
import { Tools } from "../../tools/Tools.ts"
import { Router } from "../../routing/Router.ts"
import { RoutingConfig } from "../../routing/RoutingConfig.ts"
import { JobProgram } from "../JobProgram.ts"
import { LiveSteps } from "../LiveSteps.ts"
import { CostBound } from "../CostBound.ts"
import * as adversarial from "./adversarial/run.ts"
import * as direct from "./direct/run.ts"
import { makeAsking } from "./engine/Asking.ts"
import { highestCost } from "./engine/highestCost.ts"
import { makeToolUse } from "./engine/toolUse.ts"
import * as verified from "./verified/run.ts"

const programs = { adversarial, verified, direct } as const

export const layer: Layer.Layer<JobProgram, never, Router | Ledger> = Layer.effect(
  JobProgram,
  Effect.gen(function* () {
    const router = yield* Router
    const ledger = yield* Ledger
    const tools = yield* Tools
    const live = yield* LiveSteps
    return JobProgram.of({
      run: (context) =>
        programs[context.mode].run(
          context,
          makeAsking(context, { router, ledger, live }),
          makeToolUse(context, tools, live),
        ),
    })
  }),
)

/** Computes a job's cost bound from the routing in force when the job is enqueued. */
export const layerCostBound: Layer.Layer<never, never, RoutingConfig> = Layer.effect(
  CostBound,
  Effect.gen(function* () {
    const { current } = yield* RoutingConfig
    return (job) =>
      Effect.map(Effect.all([current, Clock.currentTimeMillis]), ([settings, now]) =>
        highestCost(settings, job, programs[job.mode].maxCalls(job), now),
      )
  }),
)
