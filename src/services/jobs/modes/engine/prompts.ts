/** What the modes have in common in what they say to models. A mode's own texts stand in its folder. */
import type { Agent } from "../../../../domain/jobs/agent.ts"

/** After an answer that does not fit its schema. */
export const REPAIR =
  "That is not JSON of the form that was asked for. Reply again with the JSON alone, no text around it, no code fence, all members present."

/** How an agent is told who it is; empty for an agent without role and instructions. */
export const persona = ({ instructions, role }: Pick<Agent, "role" | "instructions">): string =>
  [role, instructions].filter((text) => text !== undefined && text !== "").join("\n\n")

/** The wanted form in words, for models that do not know `response_format` or do not keep to it. */
export const shape = (schema: unknown): string =>
  `Reply with one JSON object and nothing else, valid against this JSON Schema:\n${JSON.stringify(schema)}`
