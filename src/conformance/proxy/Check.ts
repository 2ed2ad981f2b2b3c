import type { Probe } from "./Probe.ts"

export interface Check {
  readonly must: string
  readonly name: string
  /** The required behaviour, in a sentence. */
  readonly says: string
  /** Returns the observation, in a sentence. Throws `Violation` or `Skipped`. */
  readonly run: (probe: Probe) => Promise<string>
}

export const check = (must: string, name: string, says: string, run: Check["run"]): Check => ({ must, name, says, run })
