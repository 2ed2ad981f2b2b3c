/** Mistral, whose API is OpenAI's. */
import { openAiCompatible } from "../openai/OpenAiCompatible.ts"
import type { ProviderDescriptor } from "../shared/Descriptor.ts"

export const mistral: ProviderDescriptor = {
  format: openAiCompatible,
  baseUrl: "https://api.mistral.ai/v1",
  model: "mistral-large-latest",
  aliases: { apiKey: ["MISTRAL_API_KEY"], baseUrl: ["MISTRAL_BASE_URL"], model: ["MISTRAL_MODEL"] },
}
