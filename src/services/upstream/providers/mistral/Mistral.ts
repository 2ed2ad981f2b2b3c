/** Mistral, whose API is OpenAI's, except for the ids of tool calls. */
import { openAiCompatibleWith, WITHOUT_STATE } from "../openai/OpenAiCompatible.ts"
import type { ProviderDescriptor } from "../shared/Descriptor.ts"
import { mayHoldCallIds, withCallIds } from "./callIds.ts"

export const mistral: ProviderDescriptor = {
  format: openAiCompatibleWith({
    mayApply: (json) => WITHOUT_STATE.mayApply(json) || mayHoldCallIds(json),
    apply: (messages) => withCallIds(WITHOUT_STATE.apply(messages)),
  }),
  baseUrl: "https://api.mistral.ai/v1",
  model: "mistral-large-latest",
  aliases: { apiKey: ["MISTRAL_API_KEY"], baseUrl: ["MISTRAL_BASE_URL"], model: ["MISTRAL_MODEL"] },
}
