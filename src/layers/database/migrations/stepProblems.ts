/** Why a step failed, as the job's owner sees it. */
export const stepProblems: ReadonlyArray<string> = [`ALTER TABLE job_steps ADD COLUMN problem TEXT`]
