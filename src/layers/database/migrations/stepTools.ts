/** The tool call of a step as JSON, for the trail. */
export const stepTools: ReadonlyArray<string> = [`ALTER TABLE job_steps ADD COLUMN tool TEXT`]
