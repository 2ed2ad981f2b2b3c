/** Written by `npm run eval -- --write`. */
import type { Measurements } from "./errorModel.ts"

export const MEASUREMENTS: Measurements = {
  models: {},
  sameWrong: {},
  others: { accuracy: 0.8, difficulty: 0.7, sameWrong: 0.7 },
  judges: {},
}
