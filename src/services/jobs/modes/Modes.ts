/** What jobs do: the program that a job's mode names, over the router and the ledger. */
import { Effect, Layer } from "effect"
import { Ledger } from "../../routing/Ledger.ts"
import { Router } from "../../routing/Router.ts"
import { JobProgram } from "../JobProgram.ts"
import { adversarial } from "./adversarial/run.ts"
import { makeAsking } from "./engine/Asking.ts"
import { verified } from "./verified/run.ts"

const modes = { adversarial, verified } as const

export const layer: Layer.Layer<JobProgram, never, Router | Ledger> = Layer.effect(
  JobProgram,
  Effect.gen(function* () {
    const router = yield* Router
    const ledger = yield* Ledger
    return JobProgram.of({
      run: (context) => modes[context.mode](context, makeAsking(context, router, ledger)),
    })
  }),
)
