import type { Check } from "../Check.ts"
import { claimChecks } from "./claims.ts"
import { completeChecks } from "./complete.ts"
import { envelopeChecks } from "./envelope.ts"
import { initChecks } from "./init.ts"
import { openingChecks } from "./opening.ts"
import { payloadChecks } from "./payload.ts"
import { statementChecks } from "./statements.ts"
import { streamChecks } from "./stream.ts"
import { unseenChecks } from "./unseen.ts"

/** In the order of the page. */
export const CHECKS: ReadonlyArray<Check> = [
  ...initChecks,
  ...envelopeChecks,
  ...openingChecks,
  ...claimChecks,
  ...payloadChecks,
  ...completeChecks,
  ...streamChecks,
  ...statementChecks,
  ...unseenChecks,
]
