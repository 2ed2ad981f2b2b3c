import type { Step } from "../../../client/gateway/GatewayJobs.ts"
import { type Mode, stepLabel } from "../../../domain/jobs/modes.ts"

export const endOf = (mode: Mode, step: Step): string =>
  `${stepLabel(mode, step)}: ${step.status === "failed" ? "failed" : "done"}.`

/** Places each step between the first start and the last end, as fractions of that span. */
export const timeline = (
  steps: ReadonlyArray<Pick<Step, "started_at" | "finished_at">>,
): ReadonlyArray<{ readonly offset: number; readonly length: number }> => {
  const starts = steps.map((step) => Date.parse(step.started_at))
  const ends = steps.map((step) => Date.parse(step.finished_at))
  const first = Math.min(...starts)
  const whole = Math.max(...ends) - first
  return steps.map((_, i) => {
    const start = starts[i] ?? first
    if (whole <= 0) return { offset: 0, length: 1 }
    return { offset: (start - first) / whole, length: ((ends[i] ?? start) - start) / whole }
  })
}
