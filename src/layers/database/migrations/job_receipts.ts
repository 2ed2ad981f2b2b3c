/** What a sealed proxy signed of a step's call. It stands by itself, so that lists of jobs do not read it. */
export const jobReceipts: ReadonlyArray<string> = [`ALTER TABLE job_steps ADD COLUMN receipt TEXT`]
