import type { Problem } from "../../domain/problems/problemTypes.ts"
import { SealgateError } from "../errors.ts"

/** The gateway refused the request; `problem` says why, and whether repeating it may help. */
export class GatewayProblem extends SealgateError {
  override readonly name = "GatewayProblem"
  readonly code = "problem"
  override readonly mayHaveBeenServed: boolean
  readonly problem: Problem
  /** Milliseconds after which to try again, if the gateway said so. */
  readonly retryAfterMs: number | undefined
  constructor(problem: Problem, retryAfterMs?: number, mayHaveBeenServed = true) {
    super(problem.detail === undefined ? problem.title : `${problem.title} ${problem.detail}`)
    this.problem = problem
    this.mayHaveBeenServed = mayHaveBeenServed
    this.retryAfterMs = retryAfterMs
  }
}
