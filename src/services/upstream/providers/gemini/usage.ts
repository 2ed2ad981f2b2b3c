/** Usage of the Gemini API. */
import { Option, Schema } from "effect"
import type { Usage } from "../../../../domain/chat/chat.ts"
import { plausibleUsage } from "../shared/plausibleUsage.ts"
import * as Wire from "./Wire.ts"

/** Thoughts are billed as output. `promptTokenCount` includes what came from a cache. */
export const usageOf = (value: unknown): Usage | undefined => {
  const wire = Option.getOrUndefined(decodeUsage(value))
  if (wire?.promptTokenCount == null) return undefined
  const prompt = wire.promptTokenCount + (wire.toolUsePromptTokenCount ?? 0)
  const thoughts = wire.thoughtsTokenCount ?? 0
  const completion = (wire.candidatesTokenCount ?? 0) + thoughts
  return plausibleUsage({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: wire.cachedContentTokenCount ?? 0 },
    completion_tokens_details: { reasoning_tokens: thoughts },
  })
}
const decodeUsage = Schema.decodeUnknownOption(Wire.Usage)
