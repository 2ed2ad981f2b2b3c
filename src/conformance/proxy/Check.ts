/** What a check is. */
import type { Probe } from "./Probe.ts"

export interface Check {
  readonly must: string
  readonly name: string
  /** What must be, in a sentence. */
  readonly says: string
  /** Gives what was seen, in a sentence. Throws a `Violation`, or `Skipped`. */
  readonly run: (probe: Probe) => Promise<string>
}

export const check = (must: string, name: string, says: string, run: Check["run"]): Check => ({ must, name, says, run })
