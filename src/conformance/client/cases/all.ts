import type { Case } from "../Case.ts"
import { agreement } from "./agreement.ts"
import { endRecords } from "./endRecords.ts"
import { events } from "./events.ts"
import { forms } from "./forms.ts"
import { frames } from "./frames.ts"
import { honest } from "./honest.ts"
import { iJson } from "./iJson.ts"
import { offers } from "./offers.ts"
import { refusals } from "./refusals.ts"
import { statements } from "./statements.ts"

/** Honest cases come first: a client that fails them learns nothing from the others. */
export const CASES: ReadonlyArray<Case> = [
  ...honest,
  ...offers,
  ...statements,
  ...agreement,
  ...forms,
  ...frames,
  ...endRecords,
  ...events,
  ...iJson,
  ...refusals,
]
