/** The question that a job waits for, as JSON, and when it goes on without an answer. What its last wait for a time was for. */
export const jobQuestions: ReadonlyArray<string> = [
  `ALTER TABLE jobs ADD COLUMN question TEXT`,
  `ALTER TABLE jobs ADD COLUMN input_due_at BIGINT`,
  `ALTER TABLE jobs ADD COLUMN waits_for TEXT`,
  `CREATE INDEX jobs_asking ON jobs (input_due_at) WHERE input_due_at IS NOT NULL`,
]
