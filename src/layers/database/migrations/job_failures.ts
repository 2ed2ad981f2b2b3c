/**
 * What decides whether a job that failed is tried again: since when it has been failing without a step having finished,
 * and how often a fault of this product was the reason.
 */
export const jobFailures: ReadonlyArray<string> = [
  `ALTER TABLE jobs ADD COLUMN failing_since BIGINT`,
  `ALTER TABLE jobs ADD COLUMN faults INTEGER NOT NULL DEFAULT 0`,
]
