/**
 * The version out of `jobs.agent`, for readers, who need no more of what may be a large text. It is NULL in rows from
 * before this step, and in those of older gateways that still run on the same database.
 */
export const jobAgentVersion: ReadonlyArray<string> = [`ALTER TABLE jobs ADD COLUMN agent_version INTEGER`]
