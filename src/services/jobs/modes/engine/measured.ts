/** Measurements of models: how often each is right, how errors correlate, and how reliable judges are. */
import { Context } from "effect"
import type { ErrorModel, Measurements } from "./errorModel.ts"
import { MEASUREMENTS } from "./measurements.ts"

/** The measurements in force; an evaluation provides others. */
export const Measured = Context.Reference<Measurements>("sealgate/services/jobs/modes/engine/Measured", {
  defaultValue: () => MEASUREMENTS,
})

export const pairName = (a: string, b: string): string => [a, b].sort().join(" ")

export const errorsOf = (measured: Measurements, model: string): ErrorModel => measured.models[model] ?? measured.others

export const sameWrongOf = (measured: Measurements, a: string, b: string): number =>
  measured.sameWrong[pairName(a, b)] ?? measured.others.sameWrong

/** The weight of a judge's stated confidence: it counts like this many measured judgements. */
const PRIOR = 10

/**
 * Returns how often a judge of this confidence is right, and whether that was measured. The fewer judgements were
 * measured, the more its stated confidence counts.
 */
export const calibrate = (
  measured: Measurements,
  judge: string,
  stated: number,
): { readonly confidence: number; readonly calibrated: boolean } => {
  const bin = measured.judges[judge]?.find(({ upTo }) => stated <= upTo)
  if (bin === undefined || bin.total === 0) return { confidence: stated, calibrated: false }
  return { confidence: (bin.right + PRIOR * stated) / (bin.total + PRIOR), calibrated: true }
}
