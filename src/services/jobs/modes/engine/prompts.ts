/** Prompts that the modes share. */
import type { Agent } from "../../../../domain/jobs/agent.ts"

/** Message after an answer that does not fit its schema. */
export const REPAIR =
  "That is not JSON of the form that was asked for. Reply again with the JSON alone, no text around it, no code fence, all members present."

/** An answer as a later message. Mistral refuses an assistant's message without content, Anthropic one of white space. */
export const asMessage = (answer: string): string => (answer.trim() === "" ? "(no answer)" : answer)

/** Added to an examiner's instruction if it may call tools. */
export const EXECUTE =
  "You may call tools. Where a tool can settle a point, call it instead of answering from memory, and say what it returned."

/** Tells an agent its role; empty for an agent without role and instructions. */
export const persona = ({ instructions, role }: Pick<Agent, "role" | "instructions">): string =>
  [role, instructions].filter((text) => text !== undefined && text !== "").join("\n\n")

/** The schema in words, for models that do not know or follow `response_format`. */
export const shape = (schema: unknown): string =>
  `Reply with one JSON object and nothing else, valid against this JSON Schema:\n${JSON.stringify(schema)}`
