/** Mistral, whose API is OpenAI's, except for the ids of tool calls and `stream_options`. */
import { MISTRAL_MESSAGES, openAiCompatibleWith } from "../openai/OpenAiCompatible.ts"
import type { ProviderDescriptor } from "../shared/Descriptor.ts"

export const mistral: ProviderDescriptor = {
  format: openAiCompatibleWith(MISTRAL_MESSAGES),
  baseUrl: "https://api.mistral.ai/v1",
  model: "mistral-large-latest",
  aliases: { apiKey: ["MISTRAL_API_KEY"], baseUrl: ["MISTRAL_BASE_URL"], model: ["MISTRAL_MODEL"] },
}
