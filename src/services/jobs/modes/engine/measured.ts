/**
 * What was measured about models: how often each is right, how they err together, and how far judges can be believed.
 * The shipped figures stand in `measurements.ts`, which `npm run eval -- --write` writes.
 */
import { Context } from "effect"
import type { ErrorModel, Measurements } from "./errorModel.ts"
import { MEASUREMENTS } from "./measurements.ts"

/** The measurements in force; an evaluation runs with its own. */
export const Measured = Context.Reference<Measurements>("sealgate/services/jobs/modes/engine/Measured", {
  defaultValue: () => MEASUREMENTS,
})

export const pairName = (a: string, b: string): string => [a, b].sort().join(" ")

export const errorsOf = (measured: Measurements, model: string): ErrorModel => measured.models[model] ?? measured.others

export const sameWrongOf = (measured: Measurements, a: string, b: string): number =>
  measured.sameWrong[pairName(a, b)] ?? measured.others.sameWrong

/** The weight of what a judge states: as much as this many judgements of that confidence. */
const PRIOR = 10

/**
 * How often a judge of this confidence is right, by what was measured of it, and whether anything was. The fewer
 * judgements there were, the more its own word counts.
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
