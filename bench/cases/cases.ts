/** Every case, in the order in which it is run and shown. */
import type { Case } from "../harness/Case.ts"
import { accept } from "./accept.ts"
import { jobs } from "./jobs.ts"

export const CASES: ReadonlyArray<Case> = [jobs, accept]
