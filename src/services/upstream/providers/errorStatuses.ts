/**
 * The statuses of error names, for where there is no status. Every name counts at every provider, because servers pass
 * on the errors of others that stand behind them.
 */
import { ANTHROPIC_ERRORS } from "./anthropic/errors.ts"
import { GEMINI_ERRORS } from "./gemini/errors.ts"
import { OPENAI_ERRORS } from "./openai/errors.ts"

export const STATUS_OF_ERROR: ReadonlyMap<string, number> = new Map([
  ...ANTHROPIC_ERRORS,
  ...OPENAI_ERRORS,
  ...GEMINI_ERRORS,
])
