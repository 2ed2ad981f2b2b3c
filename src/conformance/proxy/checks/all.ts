import type { Check } from "../Check.ts"
import { claimChecks } from "./claims.ts"
import { completeChecks } from "./complete.ts"
import { envelopeChecks } from "./envelope.ts"
import { evidenceChecks } from "./evidence.ts"
import { initChecks } from "./init.ts"
import { openingChecks } from "./opening.ts"
import { payloadChecks } from "./payload.ts"
import { statementChecks } from "./statements.ts"
import { streamChecks } from "./stream.ts"
import { unseenChecks } from "./unseen.ts"

/** All checks. Those of plain exchanges come first, because the first of several with one cause reports it. */
export const CHECKS: ReadonlyArray<Check> = [
  ...initChecks,
  ...completeChecks,
  ...streamChecks,
  ...statementChecks,
  ...envelopeChecks,
  ...openingChecks,
  ...claimChecks,
  ...payloadChecks,
  ...unseenChecks,
  ...evidenceChecks,
]

/** Rules about the meaning of bodies, models and providers. The other rules form the `core` profile. */
const OF_MODELS: ReadonlySet<string> = new Set(["P24", "P25", "P28", "P36", "P38", "P46", "P47", "P48", "P49", "P50"])

/** The checks of a profile: `core` is for servers that pass bodies on unread. */
export const checksOf = (profile: "core" | "full"): ReadonlyArray<Check> =>
  profile === "full" ? CHECKS : CHECKS.filter(({ must }) => !OF_MODELS.has(must))
