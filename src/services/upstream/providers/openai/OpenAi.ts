/** OpenAI. */
import type { ProviderDescriptor } from "../shared/Descriptor.ts"
import { openAiCompatible } from "./OpenAiCompatible.ts"

export const openAi: ProviderDescriptor = {
  format: openAiCompatible,
  baseUrl: "https://api.openai.com/v1",
  model: "gpt-6-sol",
  aliases: { apiKey: ["OPENAI_API_KEY"], baseUrl: ["OPENAI_BASE_URL"], model: ["OPENAI_MODEL"] },
}
